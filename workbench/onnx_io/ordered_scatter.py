"""Replaces ScatterND with a reduction by ScatterElements, as it loses updates.

ONNX Runtime's CPU kernel of ScatterND has a data race: it divides the updates among threads without
synchronization. With two threads 82 of 200 sums of 8,192 rows of 256 into 95 rows were wrong. Its
ScatterElements is sequential, so the result does not depend on the number of threads. Neither has
kernels for adding or multiplying in half precision, which is done in float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import onnx_ir.passes.common as passes

from workbench.errors import ModelError

_HALVES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
"""Dtypes in which neither kernel adds or multiplies."""


def order_scatters(model: ir.Model) -> int:
    """Replace all such nodes of `model` in place, subgraphs included.

    Returns:
        The number of replaced nodes.

    Raises:
        ModelError: the rank of the data of a node, or the number of indexed axes, is unknown.
    """
    found = [node for node in model.graph.all_nodes() if is_unordered(node) or _lacks_kernel(node)]
    if found:
        passes.ShapeInferencePass()(model)
    for node in found:
        nodes = ordered(node)
        if nodes is None:
            raise ModelError(
                f"The ranks of the inputs of ScatterND ({node.name or node.outputs[0].name}) are "
                "unknown, so it cannot be replaced, and its result would be wrong with several "
                "threads. Add shapes to the inputs of the graph, with names for dynamic axes."
            )
        result, before = nodes[-1].outputs[0], node.outputs[0]
        result.type, result.shape = before.type, before.shape
        assert node.graph is not None
        node.graph.insert_before(node, nodes)
        is_output = before.is_graph_output()
        name = before.name
        ir.convenience.replace_all_uses_with(before, result, replace_graph_outputs=True)
        if is_output:
            before.name, result.name = None, name
        node.graph.remove(node, safe=True)
    return len(found)


def is_unordered(node: ir.Node) -> bool:
    """Whether `node` is a ScatterND that may lose updates."""
    reduction = node.attributes.get_string("reduction", "none")
    return node.op_type == "ScatterND" and not node.domain and reduction != "none"


def _lacks_kernel(node: ir.Node) -> bool:
    """Whether `node` is a ScatterElements that adds or multiplies in half precision."""
    if node.op_type != "ScatterElements" or node.domain or node.inputs[0] is None:
        return False
    reduction = node.attributes.get_string("reduction", "none")
    return reduction in ("add", "mul") and node.inputs[0].dtype in _HALVES


def ordered(node: ir.Node) -> list[ir.Node] | None:
    """Nodes that replace `node`, a scatter with a reduction; the last one has its output.

    The indexed axes are flattened to one, and so are the axes of a slice; each element of a slice
    gets the index of the slice. A product with a one-hot matrix of the indices would be faster for
    up to about 250 indices, but one infinite update would give NaN everywhere.

    Returns:
        None if the rank of the data of ScatterND, or the number of indexed axes, is unknown.
    """
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    new = _NodeList(node)
    if node.op_type == "ScatterElements":
        _scattered(new, data, indices, updates, dict(node.attributes))
        return new.nodes
    if data.shape is None or indices.shape is None or not isinstance(indices.shape[-1], int):
        return None
    indexed, rank = indices.shape[-1], len(data.shape)
    shape = new.int64("Shape", data)
    places = _places(new, shape, indices, indexed)
    if indexed < rank:
        # The axes of a slice are the last ones of both.
        rows, written = (new.like(data, "Flatten", x, axis=indexed - rank) for x in (data, updates))
        column = new.int64("Unsqueeze", places, new.constant([1]))
        places = new.int64("Expand", column, new.int64("Shape", written))
    else:
        line = new.constant([-1])
        rows, written = (new.like(data, "Reshape", x, line) for x in (data, updates))
    attributes = {"axis": 0, "reduction": node.attributes["reduction"].as_string()}
    made = _scattered(new, rows, places, written, attributes)
    # allowzero: a size of 0 means 0, not the size of the input.
    new.like(data, "Reshape", made, shape, allowzero=1)
    return new.nodes


def _scattered(
    new: _NodeList,
    data: ir.Value,
    places: ir.Value,
    updates: ir.Value,
    attributes: Mapping[str, Any],
) -> ir.Value:
    dtype = data.dtype
    if dtype not in _HALVES:
        return new.like(data, "ScatterElements", data, places, updates, **attributes)
    data, updates = (new.cast(value, ir.DataType.FLOAT) for value in (data, updates))
    made = new.like(data, "ScatterElements", data, places, updates, **attributes)
    return new.cast(made, dtype)


def _places(new: _NodeList, shape: ir.Value, indices: ir.Value, indexed: int) -> ir.Value:
    """The flat index of each slice in the first `indexed` axes."""
    zero, one = (new.int64("Constant", value_int=number) for number in (0, 1))
    line = new.constant([-1])
    places: ir.Value | None = None
    for axis in range(indexed):
        number = new.int64("Constant", value_int=axis)
        size = new.int64("Gather", shape, number)
        index = new.int64("Reshape", new.int64("Gather", indices, number, axis=-1), line)
        # Gather resolves negative indices and raises an error for those out of range.
        index = new.int64("Gather", new.int64("Range", zero, size, one), index)
        if places is not None:
            index = new.int64("Add", new.int64("Mul", places, size), index)
        places = index
    assert places is not None
    return places


class _NodeList:
    """The nodes that replace another, in order, with the types of their outputs."""

    def __init__(self, old: ir.Node) -> None:
        self.nodes: list[ir.Node] = []
        self._old = old

    def int64(self, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """The int64 output of a new node."""
        return self._append(op, inputs, attributes, ir.DataType.INT64)

    def like(
        self, value: ir.Value, op: str, *inputs: ir.Value | None, **attributes: Any
    ) -> ir.Value:
        """The output of a new node, with the type of `value`."""
        return self._append(op, inputs, attributes, value.dtype)

    def cast(self, value: ir.Value, to: ir.DataType) -> ir.Value:
        return self._append("Cast", [value], {"to": int(to)}, to)

    def constant(self, values: Sequence[int]) -> ir.Value:
        return self.int64("Constant", value=ir.tensor(np.array(values, np.int64)))

    def _append(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Any],
        dtype: ir.DataType | None,
    ) -> ir.Value:
        made = ir.node(op, inputs, attributes, metadata_props=dict(self._old.metadata_props))
        if dtype is not None:
            made.outputs[0].type = ir.TensorType(dtype)
        self.nodes.append(made)
        return made.outputs[0]
