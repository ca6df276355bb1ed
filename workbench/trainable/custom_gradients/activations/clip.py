"""The gradient of a Clip to its bounds, and at them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import OPEN_BOUNDS
from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class ClipGradient(CustomGradient):
    """dX = dY where X lies between the bounds; a bound gets the sum of dY where it limits X.

    X at a bound lies between them, as in torch.clamp, unless the export marked the node as one
    whose bounds do not belong to it, as in hardtanh and relu6. Precondition: it did, or a bound
    needs a gradient; ONNX Runtime's own is correct for the rest.
    """

    op: ClassVar[str] = "Clip"
    note: ClassVar[str] = (
        "given the workbench's gradient, as PyTorch's at the bounds and with respect to them"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return OPEN_BOUNDS in node.metadata_props or bool(set(inputs_requiring_grad) - {0})

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        results = {}
        if 0 in inputs_requiring_grad:
            between = self._inside(node, graph)
            mask = graph.node("Cast", between, to=int(ir.DataType.FLOAT))
            results[0] = graph.node("Mul", graph.gradient(), mask)
        upper = len(node.inputs) > 2 and node.inputs[2] is not None
        if 1 in inputs_requiring_grad:
            held = graph.node("Less", graph.input(0), graph.input(1))
            if upper:
                # Where the bounds are crossed the upper one applies.
                uncrossed = graph.node("Less", graph.input(1), graph.input(2))
                held = graph.node("And", held, uncrossed)
            results[1] = self._sum(held, 1, graph)
        if 2 in inputs_requiring_grad:
            held = graph.node("Greater", graph.input(0), graph.input(2))
            if node.inputs[1] is not None:
                crossed = graph.node("Greater", graph.input(1), graph.input(2))
                held = graph.node("Or", held, crossed)
            results[2] = self._sum(held, 2, graph)
        return results

    def _inside(self, node: ir.Node, graph: BackwardGraph) -> str:
        if OPEN_BOUNDS not in node.metadata_props:
            return graph.node("Equal", graph.input(0), graph.output())
        sides = []
        for index, comparison in ((1, "Greater"), (2, "Less")):
            if len(node.inputs) > index and node.inputs[index] is not None:
                sides.append(graph.node(comparison, graph.output(), graph.input(index)))
        return sides[0] if len(sides) == 1 else graph.node("And", *sides)

    def _sum(self, held: str, index: int, graph: BackwardGraph) -> str:
        mask = graph.node("Cast", held, to=int(ir.DataType.FLOAT))
        total = graph.node("ReduceSum", graph.node("Mul", graph.gradient(), mask), keepdims=0)
        return graph.node("Reshape", total, graph.node("Shape", graph.input(index)))
