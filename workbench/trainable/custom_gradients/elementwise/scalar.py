"""Gradients with respect to scalars, for which ONNX Runtime's have an axis.

A later node that adds axes itself, such as the gradient of a mean, then fails.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.custom_gradients.elementwise.pow import PowGradient
from workbench.trainable.custom_gradients.elementwise.unary import ElementwiseGradient
from workbench.trainable.custom_gradients.elementwise.where import WhereGradient


class ScalarGradient(CustomGradient):
    """Precondition: the result has rank zero."""

    note: ClassVar[str] = (
        "given the workbench's gradient, where ONNX Runtime's has an axis too many"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        shape = node.outputs[0].shape
        return shape is not None and len(shape) == 0


class ScalarErfGradient(ScalarGradient, ElementwiseGradient):
    """dX = dY 2 exp(-X^2) / sqrt(pi)."""

    op: ClassVar[str] = "Erf"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        x = graph.input(0)
        bell = graph.node("Exp", graph.node("Neg", graph.node("Mul", x, x)))
        slope = graph.node("Mul", bell, graph.constant(2 / math.sqrt(math.pi)))
        return graph.node("Mul", graph.gradient(), slope)


class ScalarSqrtGradient(ScalarGradient, ElementwiseGradient):
    """dX = dY / 2 Y."""

    op: ClassVar[str] = "Sqrt"

    @override
    def through(self, node: ir.Node, graph: BackwardGraph) -> str:
        twice = graph.node("Mul", graph.output(), graph.constant(2))
        return graph.node("Div", graph.gradient(), twice)


class ScalarPowGradient(ScalarGradient, PowGradient):
    """`PowGradient` of numbers without axes."""


class ScalarWhereGradient(ScalarGradient, WhereGradient):
    """`WhereGradient` of numbers without axes."""
