"""The gradient of Expand where it may not broadcast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient, may_be_broadcast


class ExpandGradient(CustomGradient):
    """dX = dY, summed over the axes that X was broadcast along.

    Where sizes are not known, ONNX Runtime's fails for no rows. Precondition: the ranks are known,
    and a size of the input is not.
    """

    op: ClassVar[str] = "Expand"
    note: ClassVar[str] = "given the workbench's gradient, since ONNX Runtime's fails for zero rows"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        value, result = node.inputs[0], node.outputs[0]
        if 0 not in inputs_requiring_grad or value is None:
            return False
        if value.shape is None or result.shape is None:
            return False
        expanded = result.shape[len(result.shape) - len(value.shape) :]
        return any(map(may_be_broadcast, value.shape, expanded))

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        value = node.inputs[0]
        assert value is not None
        return {0: graph.sum_to(graph.gradient(), node.outputs[0], 0, value)}
