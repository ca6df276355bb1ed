"""The gradients of the tangent and of the inverse sine and cosine."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient


class TanGradient(ElementwiseGradient):
    """dX = dY * (1 + Y^2)."""

    op: ClassVar[str] = "Tan"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        y = graph.output()
        slope = graph.node("Add", graph.node("Mul", y, y), graph.constant(1))
        return graph.node("Mul", graph.gradient(), slope)


class AsinGradient(ElementwiseGradient):
    """dX = dY / sqrt(1 - X^2)."""

    op: ClassVar[str] = "Asin"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        rest = graph.node("Sub", graph.constant(1), graph.node("Mul", x, x))
        return graph.node("Div", graph.gradient(), graph.node("Sqrt", rest))


class AcosGradient(AsinGradient):
    """dX = -dY / sqrt(1 - X^2)."""

    op: ClassVar[str] = "Acos"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        return graph.node("Neg", super().through(node, graph))
