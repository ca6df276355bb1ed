"""The gradient of joining tensors of which some need none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class ConcatGradient(CustomGradient):
    """Each part's is its part of dY.

    ONNX Runtime's also computes a gradient of parts that need none, and has two of the same name
    where nodes join the same part. Precondition: a part needs none, and the ranks are known.
    """

    op: ClassVar[str] = "Concat"
    note: ClassVar[str] = "given the workbench's gradient, which leaves out parts that need none"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        known = all(value is not None and value.shape is not None for value in node.inputs)
        return known and len(inputs_requiring_grad) < len(node.inputs)

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        axis = node.attributes["axis"].as_int()
        sizes = [_size(node, index, axis, graph) for index in range(len(node.inputs))]
        lengths = graph.node("Concat", *sizes, axis=0)
        parts = graph.nodes("Split", graph.gradient(), lengths, outputs=len(sizes), axis=axis)
        return {index: parts[index] for index in inputs_requiring_grad}


def _size(node: ir.Node, index: int, axis: int, graph: BackwardGraph) -> str:
    value = node.inputs[index]
    assert value is not None
    assert value.shape is not None
    size = value.shape[axis]
    if isinstance(size, int):
        return graph.indices([size])
    return graph.node("Gather", graph.node("Shape", graph.input(index)), graph.indices([axis]))
