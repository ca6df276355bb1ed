"""The gradients of Softplus and Softsign."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient


class SoftplusGradient(ElementwiseGradient):
    """dX = dY * Sigmoid(X), without overflow."""

    op: ClassVar[str] = "Softplus"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        return graph.node("Mul", graph.gradient(), graph.node("Sigmoid", graph.input(0)))


class SoftsignGradient(ElementwiseGradient):
    """dX = dY / (1 + |X|)^2."""

    op: ClassVar[str] = "Softsign"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        size = graph.node("Add", graph.node("Abs", graph.input(0)), graph.constant(1))
        return graph.node("Div", graph.gradient(), graph.node("Mul", size, size))
