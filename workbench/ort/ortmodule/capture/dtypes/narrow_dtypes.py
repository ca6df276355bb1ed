"""Computes in a wider type where ONNX Runtime has no CPU kernel for a narrow one.

Each such node gets a Cast before and after it, so that its result is rounded or wraps around as
in PyTorch. ONNX Runtime itself does so for some kernels that lack half precision, but the
gradients of several operators fail on it, or are wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto

from workbench.onnx_io.graph_metadata import RUNNING, STATISTICS
from workbench.onnx_io.half_precision import TYPE_ATTRIBUTES
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDER: dict[int, int] = {
    TensorProto.FLOAT16: TensorProto.FLOAT,
    TensorProto.UINT8: TensorProto.INT32,
    TensorProto.INT8: TensorProto.INT32,
    TensorProto.UINT16: TensorProto.INT32,
    TensorProto.INT16: TensorProto.INT32,
    TensorProto.UINT32: TensorProto.INT64,
    TensorProto.BOOL: TensorProto.INT32,
}

_TYPE_AGNOSTIC = frozenset({
    "Cast", "Constant", "ConstantOfShape", "Identity", "Reshape", "Shape", "Squeeze", "Transpose",
    "Unsqueeze",
})  # fmt: skip
"""Operators without arithmetic; their kernels support every type."""

_INTEGER_OPERATORS = frozenset({
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "DequantizeLinear",
    "QuantizeLinear",
})  # fmt: skip
"""Operators whose kernels support integers of every width."""

_WITHOUT_BOOL = frozenset({
    "Add", "ArgMax", "ArgMin", "CumSum", "Max", "Min", "Mul", "Pow", "ReduceMax", "ReduceMin",
    "ReduceProd", "ReduceSum", "Sub", "TopK", "Where",
})  # fmt: skip
"""Operators that do not support bool in ONNX or ONNX Runtime, but do in PyTorch."""

_BUFFERS = frozenset({3, 4})
"""Places of the running statistics among the inputs of a BatchNormalization that updates them: it
is found by these buffers, and its training form computes with them in float32."""


def widen(model: onnx.ModelProto) -> bool:
    """Make each node of `model` that computes in a narrow type compute in a wider one, in place.

    Returns:
        Whether the module is in half precision: moving its Casts would undo the change.
    """
    graph, outputs = model.graph, output_specs(model)
    types = value_types(model)
    initializers = {tensor.name for tensor in graph.initializer}
    nodes = [
        made
        for node in graph.node
        for made in _widened(node, types, _kept_places(node, initializers))
    ]
    narrows = len(nodes) > len(graph.node)
    del graph.node[:]
    graph.node.extend(nodes)
    if narrows:
        check_rewrite(model, "narrow types in wider ones", outputs)
    given = {types[value.name] for value in (*graph.input, *graph.initializer)}
    return narrows and TensorProto.FLOAT16 in given


def value_types(model: onnx.ModelProto) -> dict[str, int]:
    """Element type of each value of the graph by its name, inferred where not declared."""
    graph = model.graph
    types = {value.name: value.type.tensor_type.elem_type for value in _values(graph)}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    if any(name and name not in types for node in graph.node for name in node.output):
        inferred = onnx.shape_inference.infer_shapes(model).graph
        types = {
            value.name: value.type.tensor_type.elem_type for value in _values(inferred)
        } | types
    return types


def _values(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.value_info
    yield from graph.input
    yield from graph.output


def _kept_places(node: onnx.NodeProto, initializers: Collection[str]) -> frozenset[int]:
    """Places of the inputs of `node` that are not cast."""
    if node.op_type == "Where":
        return frozenset({0})
    if node.op_type != "BatchNormalization" or node.input[3] not in initializers:
        return frozenset()
    fixed = any((each.key, each.value) == (STATISTICS, RUNNING) for each in node.metadata_props)
    return frozenset() if fixed else _BUFFERS


def _widened(
    node: onnx.NodeProto, types: Mapping[str, int], kept: Collection[int]
) -> Iterator[onnx.NodeProto]:
    """The node, between Casts where it needs them, except for the inputs at the places `kept`.

    Its inputs and outputs keep their names.
    """
    if node.domain or node.op_type in _TYPE_AGNOSTIC:
        yield node
        return
    before: dict[int, int] = {}
    for place, name in enumerate(node.input):
        if _is_narrow(node, types.get(name, 0)) and place not in kept:
            before[place] = types[name]
    gives_bool = node.op_type in _WITHOUT_BOOL and bool(before)
    after = {
        place: kind
        for place, name in enumerate(node.output)
        if _is_narrow(node, kind := types.get(name, 0)) and (kind != TensorProto.BOOL or gives_bool)
    }
    if not before and not after:
        yield node
        return
    for place, kind in before.items():
        name = f"{node.output[0]}.wide_{place}"
        yield _cast(node, node.input[place], name, _wider(node, kind))
        node.input[place] = name
    results = []
    for place, kind in after.items():
        name = f"{node.output[place]}.wide"
        results.append(_cast(node, name, node.output[place], kind))
        node.output[place] = name
    for attribute in node.attribute:
        if attribute.name in TYPE_ATTRIBUTES and attribute.i == TensorProto.FLOAT16:
            attribute.i = TensorProto.FLOAT
    yield node
    yield from results


def _is_narrow(node: onnx.NodeProto, kind: int) -> bool:
    if kind == TensorProto.BOOL:
        return node.op_type in _WITHOUT_BOOL
    if kind == TensorProto.FLOAT16:
        return True
    return kind in _WIDER and node.op_type not in _INTEGER_OPERATORS


def _wider(node: onnx.NodeProto, kind: int) -> int:
    # The kernel of Trilu does not support int32.
    wide = _WIDER[kind]
    return TensorProto.INT64 if (node.op_type, wide) == ("Trilu", TensorProto.INT32) else wide


def _cast(node: onnx.NodeProto, source: str, target: str, kind: int) -> onnx.NodeProto:
    made = onnx.helper.make_node("Cast", [source], [target], name=f"{target}.cast", to=kind)
    # Errors at it then name the layer and line of the original node.
    made.metadata_props.extend(node.metadata_props)
    return made
