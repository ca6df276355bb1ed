"""The gradient of up-sampling by repetition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.shapes.resizing import repetitions


class RepeatingResizeGradient(CustomGradient):
    """Each entry gets the sum of those that repeat it: their mean times their number.

    Precondition: the node repeats each entry of its spatial axes an integer number of times.
    """

    op: ClassVar[str] = "Resize"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return repetitions(node) is not None

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        times = repetitions(node)
        assert times is not None
        mean = graph.node("AveragePool", graph.gradient(), kernel_shape=times, strides=times)
        return {0: graph.node("Mul", mean, graph.constant(np.prod(times)))}
