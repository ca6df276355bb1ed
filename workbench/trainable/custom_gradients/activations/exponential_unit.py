"""The gradients of the exponential linear units: Elu, Selu and Celu.

Each is a line above zero and bounded below it, where its slope is read off its result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import ClassVar, NamedTuple

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient, attribute

_SELU_ALPHA = 1.67326319217681884765625
_SELU_GAMMA = 1.05070102214813232421875
"""Defaults of the ONNX operator."""


class Slope(NamedTuple):
    """dY/dX where X > 0 and, elsewhere, `rise` * Y + `start`."""

    above: float
    rise: float
    start: float


class ExponentialUnitGradient(ElementwiseGradient):
    """dX = dY * slope. Precondition: alpha is positive, so that Y has the sign of X."""

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return attribute(node, "alpha", 1.0) > 0 and attribute(node, "gamma", 1.0) > 0

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        slope, y = self.slope(node), graph.output()
        joined = slope.above == slope.start
        made = graph.node("Min", y, graph.constant(0)) if joined else y
        if slope.rise != 1.0:
            made = graph.node("Mul", made, graph.constant(slope.rise))
        made = graph.node("Add", made, graph.constant(slope.start))
        if not joined:
            above = graph.node("Greater", y, graph.constant(0))
            made = graph.node("Where", above, graph.constant(slope.above), made)
        return graph.node("Mul", graph.gradient(), made)

    @abstractmethod
    def slope(self, node: ir.Node) -> Slope:
        """The slope of the unit, by its attributes."""


class EluGradient(ExponentialUnitGradient):
    """Y = alpha * (exp(X) - 1) where X <= 0, else X."""

    op: ClassVar[str] = "Elu"

    @override
    def slope(self, node: ir.Node) -> Slope:
        return Slope(1.0, 1.0, attribute(node, "alpha", 1.0))


class SeluGradient(ExponentialUnitGradient):
    """Y = gamma * alpha * (exp(X) - 1) where X <= 0, else gamma * X."""

    op: ClassVar[str] = "Selu"

    @override
    def slope(self, node: ir.Node) -> Slope:
        gamma = attribute(node, "gamma", _SELU_GAMMA)
        return Slope(gamma, 1.0, gamma * attribute(node, "alpha", _SELU_ALPHA))


class CeluGradient(ExponentialUnitGradient):
    """Y = alpha * (exp(X / alpha) - 1) where X <= 0, else X."""

    op: ClassVar[str] = "Celu"

    @override
    def slope(self, node: ir.Node) -> Slope:
        return Slope(1.0, 1.0 / attribute(node, "alpha", 1.0), 1.0)
