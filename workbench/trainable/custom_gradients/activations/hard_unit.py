"""The gradients of piecewise linear units: HardSigmoid, HardSwish, Shrink, ThresholdedRelu.

At the ends of a piece they are those of torch.nn.functional.
"""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient, attribute


class HardSigmoidGradient(ElementwiseGradient):
    """dX = alpha * dY where 0 < Y < 1, else 0."""

    op: ClassVar[str] = "HardSigmoid"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        y = graph.output()
        rising = graph.node(
            "And",
            graph.node("Greater", y, graph.constant(0)),
            graph.node("Less", y, graph.constant(1)),
        )
        alpha = graph.constant(attribute(node, "alpha", 0.2))
        slope = graph.node("Mul", graph.node("Cast", rising, to=int(ir.DataType.FLOAT)), alpha)
        return graph.node("Mul", graph.gradient(), slope)


class HardSwishGradient(ElementwiseGradient):
    """dX = dY * (HardSigmoid(X) + X / 6 where -3 < X < 3)."""

    op: ClassVar[str] = "HardSwish"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        bent = graph.node("Less", graph.node("Abs", x), graph.constant(3))
        sixth = graph.node("Mul", x, graph.constant(1 / 6))
        bend = graph.node("Mul", sixth, graph.node("Cast", bent, to=int(ir.DataType.FLOAT)))
        gate = graph.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        return graph.node("Mul", graph.gradient(), graph.node("Add", gate, bend))


class ShrinkGradient(ElementwiseGradient):
    """dX = dY where X < -lambd or X > lambd, else 0."""

    op: ClassVar[str] = "Shrink"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        limit = graph.constant(attribute(node, "lambd", 0.5))
        kept = graph.node("Greater", graph.node("Abs", graph.input(0)), limit)
        mask = graph.node("Cast", kept, to=int(ir.DataType.FLOAT))
        return graph.node("Mul", graph.gradient(), mask)


class ThresholdedReluGradient(ElementwiseGradient):
    """dX = dY where X > alpha, else 0."""

    op: ClassVar[str] = "ThresholdedRelu"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        threshold = graph.constant(attribute(node, "alpha", 1.0))
        kept = graph.node("Greater", graph.input(0), threshold)
        mask = graph.node("Cast", kept, to=int(ir.DataType.FLOAT))
        return graph.node("Mul", graph.gradient(), mask)
