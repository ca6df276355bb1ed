"""The gradient of the leaky unit whose slope is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient, ranks_known


class PReluGradient(CustomGradient):
    """dX = dY where X > 0, else slope * dY; dSlope = dY * X where X < 0, summed to its shape.

    Precondition: where the slope needs a gradient, its rank and that of X are known.
    """

    op: ClassVar[str] = "PRelu"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return 1 not in inputs_requiring_grad or ranks_known(node, inputs_requiring_grad)

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        results = {}
        x, zero = graph.input(0), graph.constant(0)
        if 0 in inputs_requiring_grad:
            above = graph.node("Greater", x, zero)
            slope = graph.node("Where", above, graph.constant(1), graph.input(1))
            results[0] = graph.node("Mul", graph.gradient(), slope)
        if 1 in inputs_requiring_grad:
            slope_input = node.inputs[1]
            assert slope_input is not None
            below = graph.node("Mul", graph.gradient(), graph.node("Min", x, zero))
            results[1] = graph.sum_to(below, node.outputs[0], 1, slope_input)
        return results
