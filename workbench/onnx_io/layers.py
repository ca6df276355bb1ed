"""The layers of an ONNX graph: its nodes, except for those that only compute shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.onnx_io.graph import batch_axis_name, fixed_batch_size, value_shape
from workbench.specs import Layer, ParameterSpec, elements_of_row

if TYPE_CHECKING:
    import onnx

PLUMBING = frozenset(
    {
        "Cast",
        "CastLike",
        "Constant",
        "ConstantOfShape",
        "Identity",
        "Range",
        "Shape",
        "Size",
        "Squeeze",
        "Unsqueeze",
    }
)
"""Operators that are not listed as layers unless they have a parameter."""

PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
"""Operators whose multiply-adds are counted."""

Shape = tuple[int | str, ...]

UNKNOWN: Shape = ("unknown", "unknown")


def onnx_layers(model: onnx.ModelProto, parameters: Mapping[str, ParameterSpec]) -> list[Layer]:
    """One layer per node, in the order of the graph; a shared parameter is counted in the first."""
    graph = model.graph
    batch_name = batch_axis_name(model)
    shapes: dict[str, Shape] = {
        value.name: value_shape(value, batch_name)
        for value in (*graph.input, *graph.value_info, *graph.output)
        if value.type.tensor_type.HasField("shape")
    }
    shapes.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer)
    constants = {tensor.name for tensor in graph.initializer}
    rows = fixed_batch_size(model) or 1
    counted: set[str] = set()
    layers = []
    for node in graph.node:
        products = _multiply_adds(node, shapes)
        if products is not None and not constants.issuperset(node.input):
            products //= rows
        own = [name for name in dict.fromkeys(node.input) if name in parameters]
        if node.op_type in PLUMBING and not own:
            continue
        new = [parameters[name] for name in own if name not in counted]
        counted.update(own)
        layers.append(
            Layer(
                node.name or node.output[0],
                node.op_type,
                shapes.get(node.output[0]),
                sum(spec.element_count for spec in new),
                sum(spec.byte_count for spec in new),
                products,
            )
        )
    return layers


def _multiply_adds(node: onnx.NodeProto, shapes: Mapping[str, Shape]) -> int | None:
    """Multiply-adds for one row of the batch, or for all where its size is static; None for other
    operators, or if a size is not known.

    Args:
        node: a node of the graph.
        shapes: known shapes of inputs, values and initializers, by name.
    """
    if node.op_type not in PRODUCTS:
        return None
    names = (*node.input[:2], node.output[0])
    left, right, output = (shapes.get(name, UNKNOWN) for name in names)
    if node.op_type == "Conv":
        return elements_of_row((*output, *right[1:]))
    if node.op_type == "ConvTranspose":
        return elements_of_row((*left, *right[1:]))
    transposed = any(each.name == "transA" and each.i for each in node.attribute)
    return elements_of_row((*output, *(left[:1] if transposed else left[-1:])))
