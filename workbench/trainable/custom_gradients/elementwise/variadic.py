"""The gradients of the sum and the mean of several tensors, each broadcast to the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class SumGradient(CustomGradient):
    """dX = dY, summed over the axes that X was broadcast along.

    Precondition: the ranks are known.
    """

    op: ClassVar[str] = "Sum"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        values = [node.outputs[0], *(node.inputs[index] for index in inputs_requiring_grad)]
        return all(value is not None and value.shape is not None for value in values)

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        gradient = self.share(node, graph)
        results = {}
        for index in inputs_requiring_grad:
            target = node.inputs[index]
            assert target is not None
            results[index] = graph.sum_to(gradient, node.outputs[0], index, target)
        return results

    def share(self, node: ir.Node, graph: BackwardGraph) -> str:  # noqa: ARG002
        """The gradient to each of the tensors, before it is summed."""
        return graph.gradient()


class MeanGradient(SumGradient):
    """The same over the number of tensors."""

    op: ClassVar[str] = "Mean"

    @override
    def share(self, node: ir.Node, graph: BackwardGraph) -> str:
        return graph.node("Div", graph.gradient(), graph.constant(len(node.inputs)))
