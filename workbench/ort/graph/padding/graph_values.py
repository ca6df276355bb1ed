"""Shapes and constants of a graph, with the names of its dynamic sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import numpy_helper

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.padding.layout import Size

if TYPE_CHECKING:
    import onnx


class GraphValues:
    """Shapes and constants of a graph that is not changed meanwhile."""

    def __init__(self, model: onnx.ModelProto) -> None:
        import onnx

        made = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        inferred = [*made.value_info, *made.output]
        self.graph = model.graph
        self.editor = GraphEditor(model.graph, inferred)
        self._types: dict[str, onnx.TypeProto.Tensor] = {}
        for value in (*inferred, *model.graph.value_info, *model.graph.input, *model.graph.output):
            stated = value.type.tensor_type
            if stated.HasField("shape") or value.name not in self._types:
                self._types[value.name] = stated

    def shape(self, name: str) -> tuple[Size, ...] | None:
        """Sizes: a number, a name, or None if unknown; None for an unknown shape."""
        found = self._types.get(name)
        if found is None:
            return self.editor.shape(name)
        if not found.HasField("shape"):
            return None
        return tuple(
            axis.dim_value if axis.HasField("dim_value") else axis.dim_param or None
            for axis in found.shape.dim
        )

    def element_type(self, name: str) -> int:
        """Element type of a value; 0 if not known."""
        found = self._types.get(name)
        return found.elem_type if found is not None else self.editor.element_type(name)

    def uniform(self, name: str) -> float | None:
        """The value of all elements of a uniform constant."""
        found = self.editor.constant(name)
        if found is None:
            return self._expanded(name)
        if not found.size or found.dtype.kind not in "biuf":
            return None
        first = found.flat[0]
        return float(first) if (found == first).all() else None

    def integers(self, name: str) -> list[int] | None:
        """The values of a constant of integers."""
        found = self.editor.constant(name)
        if found is None or not np.issubdtype(found.dtype, np.integer):
            return None
        return [int(value) for value in found.ravel()]

    def _expanded(self, name: str) -> float | None:
        node = self.editor.producers.get(name)
        if node is None:
            return None
        if node.op_type in ("Expand", "Reshape", "Unsqueeze"):
            return self.uniform(node.input[0])
        if node.op_type == "ConstantOfShape":
            value = attribute(node, "value", None)
            return 0.0 if value is None else float(numpy_helper.to_array(value).item())
        return None

    def axes(self, node: onnx.NodeProto, rank: int) -> list[int] | None:
        """The axes that a node names by its second input or its attribute, counted from 0.

        None if they are not constant; all axes if it names none.
        """
        named = attribute(node, "axes", None)
        if named is None and len(node.input) > 1 and node.input[1]:
            named = self.integers(node.input[1])
            if named is None:
                return None
        return [axis % rank for axis in named] if named else list(range(rank))
