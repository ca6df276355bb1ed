"""One graph: its description, and on demand the details of a node and the values of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.artifacts.generation.provenance import NodeProvenance
from workbench.errors import ModelError
from workbench.graph_view.attributes import attribute_texts
from workbench.graph_view.description import GraphDescription
from workbench.graph_view.read import describe, plain_graph
from workbench.graph_view.tensor_summary import TensorSummary, summarize
from workbench.onnx_io.external_data import external_array
from workbench.onnx_io.file import parse_onnx
from workbench.onnx_io.tensor_data import is_outside, tensor_array

if TYPE_CHECKING:
    import onnx

Load = Callable[[], "onnx.ModelProto"]


class GraphFile:
    """A graph that is described at once; the values of its tensors are read on request."""

    def __init__(
        self,
        key: str,
        title: str,
        load: Load,
        *,
        path: Path | None = None,
        parameters: Collection[str] = (),
        provenance: tuple[NodeProvenance, ...] | None = None,
        notices: tuple[str, ...] = (),
        values_from: tuple[Path, ...] = (),
    ) -> None:
        """Load and describe a graph.

        Args:
            key: short name, such as "training".
            title: name to show.
            load: returns the graph; called again when values are requested.
            path: the file that it comes from, beside which external data lies; None if there is
                none.
            parameters: names of values that are parameters.
            provenance: of its nodes, in their order; None if nothing is recorded.
            notices: sentences to show with it.
            values_from: other files that hold values by the same names.

        Raises:
            ModelError: the file cannot be read; or provenance is that of another graph.
        """
        self._load = load
        self._path = path
        self._values_from = values_from
        self._graph = plain_graph(load())
        self.description: GraphDescription = describe(
            key, title, self._graph, parameters, provenance, notices
        )

    @classmethod
    def of_file(cls, key: str, title: str, path: Path, **options: Any) -> GraphFile:
        """The graph in an .onnx file; see the constructor."""
        return cls(key, title, lambda: parse_onnx(path), path=path, **options)

    def node_details(self, index: int) -> dict[str, Any]:
        """Details of one node: attributes, inputs and outputs, in JSON types.

        Raises:
            ModelError: there is no such node.
        """
        shown = self.description
        if not 0 <= index < len(shown.nodes):
            raise ModelError(
                f"{shown.title} has no node number {index}; there are {len(shown.nodes)}."
            )
        node = shown.nodes[index]
        attributes = []
        if node.kind == "operator":
            attributes = attribute_texts(self._graph.graph.node[index])

        def named(positions: tuple[int, ...]) -> list[dict[str, str]]:
            return [
                {"name": "", "type": "left out", "role": ""}
                if position < 0
                else {
                    "name": shown.values[position].name,
                    "type": shown.values[position].type_text,
                    "role": shown.values[position].role,
                }
                for position in positions
            ]

        return {
            "index": index,
            "name": node.name,
            "op": node.op,
            "kind": node.kind,
            "layer": node.layer,
            "made_by": node.made_by,
            "note": node.note,
            "origins": list(node.origins),
            "attributes": [{"name": name, "value": value} for name, value in attributes],
            "inputs": named(node.inputs),
            "outputs": named(node.outputs),
        }

    def tensor_summary(self, name: str) -> TensorSummary:
        """Statistics of the values of a parameter or an initializer, read from its file.

        Raises:
            ModelError: no file holds its values, or they cannot be read.
        """
        loads: list[tuple[Load, Path | None]] = [(self._load, self._path)]
        loads += [(lambda each=each: parse_onnx(each), each) for each in self._values_from]  # type: ignore[misc]
        for load, path in loads:
            for tensor in load().graph.initializer:
                if tensor.name == name:
                    array = _array(tensor, path)
                    if array.dtype.kind == "c":
                        raise ModelError(
                            f"{name!r} holds complex numbers, of which there are no statistics."
                        )
                    return summarize(name, array)
        raise ModelError(f"No file of {self.description.title} holds the values of {name!r}.")


def _array(tensor: onnx.TensorProto, path: Path | None) -> np.ndarray:
    import onnx

    if tensor.data_type == onnx.TensorProto.STRING:
        raise ModelError(f"{tensor.name!r} holds text, of which there are no statistics.")
    try:
        if is_outside(tensor) and path is not None:
            return external_array(tensor, path)
        return tensor_array(tensor)
    except ModelError:
        raise
    except Exception as error:  # onnx and numpy raise many types
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"The values of {tensor.name!r} cannot be read: {reason}. Export the model again."
        ) from error
