"""The gradient of Where with a broadcast input."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient, may_be_broadcast


class WhereGradient(CustomGradient):
    """dX = dY where the condition holds and zero elsewhere, summed where X was broadcast.

    ONNX Runtime's does not sum. Precondition: the ranks are known, and a value that needs a
    gradient may be of another shape than the result.
    """

    op: ClassVar[str] = "Where"
    note: ClassVar[str] = "given the workbench's gradient, where ONNX Runtime's is wrong"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        result = node.outputs[0]
        shapes = [
            value.shape
            for index in inputs_requiring_grad
            if (value := node.inputs[index]) is not None
        ]
        if result.shape is None or any(shape is None for shape in shapes):
            return False
        return any(
            shape != result.shape or any(map(may_be_broadcast, shape, result.shape))
            for shape in shapes
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        results = {}
        nothing = graph.constant(0)
        for index in inputs_requiring_grad:
            target = node.inputs[index]
            assert target is not None
            sides = (graph.gradient(), nothing) if index == 1 else (nothing, graph.gradient())
            chosen = graph.node("Where", graph.input(0), *sides)
            results[index] = graph.sum_to(chosen, node.outputs[0], index, target)
        return results
