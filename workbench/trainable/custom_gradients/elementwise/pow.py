"""The gradient of a power whose exponent is not a constant number, or is zero."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient, ranks_known


class PowGradient(CustomGradient):
    """Y = X^E: dX = dY * E * X^(E - 1), and dE = dY * Y * log(X), each summed to its shape.

    Both are zero where torch.pow's are: dX where E = 0, and dE where X = 0 and E >= 0.
    Precondition: the ranks are known and ONNX Runtime's own gradient is not right. It omits the
    exponent, cannot be built for an exponent that is not float32, and is correct where the exponent
    is one constant number other than zero.
    """

    op: ClassVar[str] = "Pow"
    note: ClassVar[str] = "given the workbench's gradient, which reaches the exponent"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        exponent = node.inputs[1]
        assert exponent is not None
        number = None if exponent.const_value is None else exponent.const_value.numpy()
        simple = number is not None and number.size == 1 and number.item() != 0
        simple = simple and exponent.dtype == ir.DataType.FLOAT
        return (1 in inputs_requiring_grad or not simple) and ranks_known(
            node, inputs_requiring_grad
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        base, power = node.inputs
        assert base is not None
        assert power is not None
        x, exponent, zero = graph.input(0), graph.input(1), graph.constant(0)
        if power.dtype not in {None, ir.DataType.FLOAT}:
            exponent = graph.node("Cast", exponent, to=int(ir.DataType.FLOAT))
        results = {}
        if 0 in inputs_requiring_grad:
            lower = graph.node("Pow", x, graph.node("Sub", exponent, graph.constant(1)))
            flat = graph.node("Equal", exponent, zero)
            slope = graph.node("Where", flat, zero, graph.node("Mul", exponent, lower))
            gradient = graph.node("Mul", graph.gradient(), slope)
            results[0] = graph.sum_to(gradient, node.outputs[0], 0, base)
        if 1 in inputs_requiring_grad:
            flat = graph.node(
                "And",
                graph.node("Equal", x, zero),
                graph.node("GreaterOrEqual", exponent, zero),
            )
            growth = graph.node("Mul", graph.output(), graph.node("Log", x))
            slope = graph.node("Where", flat, zero, growth)
            gradient = graph.node("Mul", graph.gradient(), slope)
            results[1] = graph.sum_to(gradient, node.outputs[0], 1, power)
        return results
