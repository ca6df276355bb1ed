"""ScatterND with a reduction, as ScatterElements: what every update gives arrives.

ONNX Runtime's CPU kernel of ScatterND shares the updates out among its threads. Two that add to (or
multiply, or compare with) the same place at the same time lose one of the updates: with two threads
82 of 200 sums of 8,192 rows of 256 into 95 were wrong. Its ScatterElements takes one update after
another, and gives the same bits with any number of threads. Neither adds or multiplies in half
precision, which is done in float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import onnx_ir.passes.common as passes

from workbench.errors import ModelError

_HALVES = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
"""Neither kernel adds or multiplies in these."""


def order_scatters(model: ir.Model) -> int:
    """Write every such node of `model` anew, in place, those of subgraphs included.

    Returns:
        How many there were.

    Raises:
        ModelError: the rank of what one writes to, or the number of axes that it indexes, is not
            known.
    """
    found = [node for node in model.graph.all_nodes() if is_unordered(node) or _lacks_kernel(node)]
    if found:
        passes.ShapeInferencePass()(model)
    for node in found:
        nodes = ordered(node)
        if nodes is None:
            raise ModelError(
                f"The ranks of what ScatterND ({node.name or node.outputs[0].name}) reads are not "
                "known, and without them its sums could be wrong with several threads. Give the "
                "inputs of the graph shapes, with names for the sizes that vary."
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
    """Nodes that do what `node` does, a scatter with a reduction; the last makes its result.

    The axes that it indexes become one, and so do those behind; the elements of a slice get its
    place each. Not a product with the one-hot matrix of the places, which is faster for up to some
    250 places: it would turn one infinite update into NaN at every place.

    Returns:
        None where the rank of what ScatterND writes to, or the number of axes that it indexes, is
        not known.
    """
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    new = _Nodes(node)
    if node.op_type == "ScatterElements":
        _scattered(new, data, indices, updates, dict(node.attributes))
        return new.nodes
    if data.shape is None or indices.shape is None or not isinstance(indices.shape[-1], int):
        return None
    indexed, rank = indices.shape[-1], len(data.shape)
    shape = new.whole("Shape", data)
    places = _places(new, shape, indices, indexed)
    if indexed < rank:
        # The axes of a slice lie at the end of both.
        rows, written = (new.of(data, "Flatten", x, axis=indexed - rank) for x in (data, updates))
        column = new.whole("Unsqueeze", places, new.numbers([1]))
        places = new.whole("Expand", column, new.whole("Shape", written))
    else:
        line = new.numbers([-1])
        rows, written = (new.of(data, "Reshape", x, line) for x in (data, updates))
    attributes = {"axis": 0, "reduction": node.attributes["reduction"].as_string()}
    made = _scattered(new, rows, places, written, attributes)
    # A size of zero is zero, and not that of the input.
    new.of(data, "Reshape", made, shape, allowzero=1)
    return new.nodes


def _scattered(
    new: _Nodes,
    data: ir.Value,
    places: ir.Value,
    updates: ir.Value,
    attributes: Mapping[str, Any],
) -> ir.Value:
    dtype = data.dtype
    if dtype not in _HALVES:
        return new.of(data, "ScatterElements", data, places, updates, **attributes)
    data, updates = (new.cast(value, ir.DataType.FLOAT) for value in (data, updates))
    made = new.of(data, "ScatterElements", data, places, updates, **attributes)
    return new.cast(made, dtype)


def _places(new: _Nodes, shape: ir.Value, indices: ir.Value, indexed: int) -> ir.Value:
    """The place of each slice along the first `indexed` axes, taken as one."""
    zero, one = (new.whole("Constant", value_int=number) for number in (0, 1))
    line = new.numbers([-1])
    places: ir.Value | None = None
    for axis in range(indexed):
        number = new.whole("Constant", value_int=axis)
        size = new.whole("Gather", shape, number)
        index = new.whole("Reshape", new.whole("Gather", indices, number, axis=-1), line)
        # Gather counts a negative index from the end and refuses one that is out of range.
        index = new.whole("Gather", new.whole("Range", zero, size, one), index)
        if places is not None:
            index = new.whole("Add", new.whole("Mul", places, size), index)
        places = index
    assert places is not None
    return places


class _Nodes:
    """The nodes that take the place of another, in order, each with the type of its result."""

    def __init__(self, old: ir.Node) -> None:
        self.nodes: list[ir.Node] = []
        self._old = old

    def whole(self, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """The result of a new node, of int64."""
        return self._append(op, inputs, attributes, ir.DataType.INT64)

    def of(self, like: ir.Value, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """The result of a new node, of the type of `like`."""
        return self._append(op, inputs, attributes, like.dtype)

    def cast(self, value: ir.Value, to: ir.DataType) -> ir.Value:
        return self._append("Cast", [value], {"to": int(to)}, to)

    def numbers(self, values: Sequence[int]) -> ir.Value:
        return self.whole("Constant", value=ir.tensor(np.array(values, np.int64)))

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
