"""The layers of an ONNX graph: its nodes, except for those that only compute shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.onnx_io.graph import batch_axis_name, value_shape
from workbench.specs import Layer, ParameterSpec

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


def onnx_layers(model: onnx.ModelProto, parameters: Mapping[str, ParameterSpec]) -> list[Layer]:
    """One layer per node, in the order of the graph; a shared parameter is counted in the first."""
    graph = model.graph
    batch_name = batch_axis_name(model)
    shapes = {
        value.name: value_shape(value, batch_name)
        for value in (*graph.value_info, *graph.output)
        if value.type.tensor_type.HasField("shape")
    }
    counted: set[str] = set()
    layers = []
    for node in graph.node:
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
            )
        )
    return layers
