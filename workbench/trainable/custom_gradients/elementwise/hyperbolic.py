"""The gradients of the hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient


class SinhGradient(ElementwiseGradient):
    """dX = dY * cosh(X)."""

    op: ClassVar[str] = "Sinh"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        return graph.node("Mul", graph.gradient(), graph.node("Cosh", graph.input(0)))


class CoshGradient(ElementwiseGradient):
    """dX = dY * sinh(X)."""

    op: ClassVar[str] = "Cosh"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        return graph.node("Mul", graph.gradient(), graph.node("Sinh", graph.input(0)))


class AsinhGradient(ElementwiseGradient):
    """dX = dY / sqrt(X^2 + 1)."""

    op: ClassVar[str] = "Asinh"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        rest = graph.node("Add", graph.node("Mul", x, x), graph.constant(1))
        return graph.node("Div", graph.gradient(), graph.node("Sqrt", rest))


class AcoshGradient(ElementwiseGradient):
    """dX = dY / sqrt(X^2 - 1)."""

    op: ClassVar[str] = "Acosh"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        rest = graph.node("Sub", graph.node("Mul", x, x), graph.constant(1))
        return graph.node("Div", graph.gradient(), graph.node("Sqrt", rest))


class AtanhGradient(ElementwiseGradient):
    """dX = dY / (1 - X^2)."""

    op: ClassVar[str] = "Atanh"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        rest = graph.node("Sub", graph.constant(1), graph.node("Mul", x, x))
        return graph.node("Div", graph.gradient(), rest)
