"""The gradient of the remainder that has the sign of the dividend, as of torch.fmod."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient, ranks_known


class ModGradient(CustomGradient):
    """Y = A - B * trunc(A / B): dA = dY, dB = -dY * trunc(A / B), each summed to its shape.

    Precondition: the ranks are known.
    """

    op: ClassVar[str] = "Mod"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return ranks_known(node, inputs_requiring_grad)

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        dividend, divisor = node.inputs
        assert dividend is not None
        assert divisor is not None
        results = {}
        if 0 in inputs_requiring_grad:
            results[0] = graph.sum_to(graph.gradient(), node.outputs[0], 0, dividend)
        if 1 in inputs_requiring_grad:
            # Read off the result, so that both round the quotient alike.
            taken = graph.node("Sub", graph.output(), graph.input(0))
            times = graph.node("Round", graph.node("Div", taken, graph.input(1)))
            gradient = graph.node("Mul", graph.gradient(), times)
            results[1] = graph.sum_to(gradient, node.outputs[0], 1, divisor)
        return results
