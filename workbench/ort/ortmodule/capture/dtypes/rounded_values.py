"""Computes half precision in float32, rounded after each operator.

ONNX Runtime has next to no CPU kernels for bfloat16, but Cast. So every value stays float32, and a
pair of Casts, there and back, rounds it to the value that PyTorch would compute in half precision.
A product is then one of bfloat16 numbers, summed in float32 and rounded once, as PyTorch's kernels
compute it. The gradient of such a pair is the same pair: gradients are rounded where PyTorch rounds
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
from onnx import TensorProto

from workbench.onnx_io.half_precision import TYPE_ATTRIBUTES
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.onnx_io.tensor_data import tensor_array
from workbench.ort.ortmodule.capture.dtypes.narrow_dtypes import value_types

_EXACT = frozenset({
    "Abs", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
    "MaxPool", "Neg", "Relu", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze", "Where",
})  # fmt: skip
"""Operators whose results are among their input values, or their negatives."""

_HALVES = frozenset({TensorProto.BFLOAT16, TensorProto.FLOAT16})
_FLOATS = _HALVES | {TensorProto.FLOAT}


def compute_in_float32(model: onnx.ModelProto) -> bool:
    """Make `model` compute in float32 instead of half precision, in place, interface included.

    Returns:
        Whether there was any: moving its Casts would undo the rounding.
    """
    graph, outputs = model.graph, output_specs(model)
    types = value_types(model)
    if _HALVES.isdisjoint(types.values()):
        return False
    for tensor in graph.initializer:
        _convert(tensor)
    nodes = [made for node in graph.node for made in _rounded(node, types)]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type in _HALVES:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    wide = [
        each._replace(element_type=TensorProto.FLOAT) if each.element_type in _HALVES else each
        for each in outputs
    ]
    check_rewrite(model, "half precision in float32", wide)
    return True


def _rounded(node: onnx.NodeProto, types: Mapping[str, int]) -> Iterator[onnx.NodeProto]:
    """The node, followed by the Casts that round its results."""
    if node.op_type == "Cast":
        kinds = [types.get(name, 0) for name in (*node.input, *node.output)]
        halves = [kind for kind in kinds if kind in _HALVES]
        if halves and _FLOATS.issuperset(kinds):
            yield from _round(node, node.input[0], node.output[0], halves[-1])
            return
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            _convert(attribute.t)
        elif attribute.name in TYPE_ATTRIBUTES and attribute.i in _HALVES:
            attribute.i = TensorProto.FLOAT
    pairs: list[onnx.NodeProto] = []
    if node.op_type not in _EXACT:
        for place, name in enumerate(node.output):
            kind = types.get(name, 0)
            if kind in _HALVES:
                node.output[place] = f"{name}.float32"
                pairs.extend(_round(node, node.output[place], name, kind))
    yield node
    yield from pairs


def _round(node: onnx.NodeProto, source: str, target: str, kind: int) -> Iterator[onnx.NodeProto]:
    narrow = f"{target}.half"
    for before, after, to in ((source, narrow, kind), (narrow, target, TensorProto.FLOAT)):
        made = onnx.helper.make_node("Cast", [before], [after], name=f"{after}.cast", to=to)
        # Errors at it then name the layer and line of the original node.
        made.metadata_props.extend(node.metadata_props)
        yield made


def _convert(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _HALVES:
        array = tensor_array(tensor).astype("float32")
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
