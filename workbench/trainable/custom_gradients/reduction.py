"""The gradients of reductions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.shapes.reduced_axes import keeps_axes, reduced_axes


class ReductionGradient(CustomGradient):
    """The gradient of a reduction with constant axes, over an input of known rank."""

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return set(inputs_requiring_grad) == {0} and reduced_axes(node) is not None

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        axes = reduced_axes(node)
        assert axes is not None
        return {0: self.spread(node, axes, graph)}

    @abstractmethod
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        """The gradient to the input of `node`, which reduces `axes`."""

    def kept(self, node: ir.Node, axes: list[int], value: str, graph: BackwardGraph) -> str:
        """`value`, of the shape of the output of `node`, with an axis of size one for each of
        `axes`."""
        if keeps_axes(node) or not axes:
            return value
        return graph.node("Unsqueeze", value, graph.indices(axes))


class ReduceMaxGradient(ReductionGradient):
    """dX = dY, divided evenly among the elements that are equal to the result (torch.amax)."""

    op: ClassVar[str] = "ReduceMax"

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        result = self.kept(node, axes, graph.output(), graph)
        found = graph.node("Equal", graph.input(0), result)
        chosen = graph.node("Cast", found, to=onnx.TensorProto.FLOAT)
        count = graph.node("ReduceSum", chosen, graph.indices(axes), keepdims=1)
        share = graph.node("Div", self.kept(node, axes, graph.gradient(), graph), count)
        return graph.node("Mul", chosen, share)


class ReduceMinGradient(ReduceMaxGradient):
    """The same of the smallest element (torch.amin)."""

    op: ClassVar[str] = "ReduceMin"


class ReduceProdGradient(ReductionGradient):
    """dX = dY times the product of the other elements.

    That is the product of all but the zeros, over the element where it is not zero itself, unless
    another element is zero.
    """

    op: ClassVar[str] = "ReduceProd"

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        x, reduced = graph.input(0), graph.indices(axes)
        is_zero = graph.node("Equal", x, graph.constant(0))
        zero = graph.node("Cast", is_zero, to=onnx.TensorProto.FLOAT)
        nonzero = graph.node("Where", is_zero, graph.constant(1), x)
        product = graph.node("ReduceProd", nonzero, reduced, keepdims=1)
        spread = graph.node("Mul", self.kept(node, axes, graph.gradient(), graph), product)
        others = graph.node("Sub", graph.node("ReduceSum", zero, reduced, keepdims=1), zero)
        no_other = graph.node("Equal", others, graph.constant(0))
        gradient = graph.node("Div", spread, nonzero)
        return graph.node("Where", no_other, gradient, graph.constant(0))


class ReduceL1Gradient(ReductionGradient):
    """dX = dY sign(X)."""

    op: ClassVar[str] = "ReduceL1"

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        sign = graph.node("Sign", graph.input(0))
        return graph.node("Mul", sign, self.kept(node, axes, graph.gradient(), graph))


class ReduceL2Gradient(ReductionGradient):
    """dX = dY X / Y, and zero where Y is.

    ONNX Runtime's fails where every axis is reduced and none is given.
    """

    op: ClassVar[str] = "ReduceL2"
    note: ClassVar[str] = "given the workbench's gradient, where ONNX Runtime's fails"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        without_axes = len(node.inputs) < 2 or node.inputs[1] is None
        return without_axes and super().applies(node, inputs_requiring_grad)

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        norm = self.kept(node, axes, graph.output(), graph)
        is_zero = graph.node("Equal", norm, graph.constant(0))
        over = graph.node("Where", is_zero, graph.constant(1), norm)
        share = graph.node("Div", self.kept(node, axes, graph.gradient(), graph), over)
        # Where the norm is zero, so is X.
        return graph.node("Mul", graph.input(0), share)


class ReduceSumSquareGradient(ReductionGradient):
    """dX = 2 dY X."""

    op: ClassVar[str] = "ReduceSumSquare"

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        twice = graph.node("Mul", graph.gradient(), graph.constant(2))
        return graph.node("Mul", graph.input(0), self.kept(node, axes, twice, graph))


class ReduceLogSumGradient(ReductionGradient):
    """dX = dY / exp(Y), the same for every element of a sum."""

    op: ClassVar[str] = "ReduceLogSum"

    @override
    def spread(self, node: ir.Node, axes: list[int], graph: BackwardGraph) -> str:
        over = graph.node("Div", graph.gradient(), graph.node("Exp", graph.output()))
        shape = graph.node("Shape", graph.input(0))
        return graph.node("Expand", self.kept(node, axes, over, graph), shape)
