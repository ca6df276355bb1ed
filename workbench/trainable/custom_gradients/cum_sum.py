"""The gradient of the cumulative sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class CumSumGradient(CustomGradient):
    """The cumulative sum of dY from the other end."""

    op: ClassVar[str] = "CumSum"

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        backwards, exclusive = (
            node.attributes[name].as_int() if name in node.attributes else 0
            for name in ("reverse", "exclusive")
        )
        summed = graph.node(
            "CumSum", graph.gradient(), graph.input(1), reverse=1 - backwards, exclusive=exclusive
        )
        return {0: summed}
