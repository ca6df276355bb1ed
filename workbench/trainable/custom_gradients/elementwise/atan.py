"""The gradient of the inverse tangent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class AtanGradient(CustomGradient):
    """dX = dY / (1 + X^2)."""

    op: ClassVar[str] = "Atan"

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        x = graph.input(0)
        square = graph.node("Mul", x, x)
        return {
            0: graph.node("Div", graph.gradient(), graph.node("Add", square, graph.constant(1)))
        }
