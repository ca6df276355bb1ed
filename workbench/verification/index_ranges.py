"""Valid ranges of integer inputs that index into tables, such as embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.files.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from workbench.models import Model

_SAME = {"Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"}
"""Operators that do not change integer values."""


def index_ranges(model: Model) -> dict[str, int]:
    """For each input that indexes into initializers, the number of rows of the smallest."""
    import onnx

    with temporary_folder() as folder:
        # Only shapes are needed, so external data is not loaded.
        path = model.export(folder / "model.onnx")
        graph = onnx.load(path, load_external_data=False).graph
    tables = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    inputs = {value.name: value.name for value in graph.input}
    ranges: dict[str, int] = {}
    for node in graph.node:
        if node.op_type in _SAME and node.input[0] in inputs:
            inputs[node.output[0]] = inputs[node.input[0]]
        if node.op_type != "Gather" or node.input[0] not in tables or node.input[1] not in inputs:
            continue
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        name = inputs[node.input[1]]
        rows = tables[node.input[0]][axis]
        ranges[name] = min(rows, ranges.get(name, rows))
    return ranges
