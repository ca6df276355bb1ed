"""The gradient of the matrix product with a vector."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class MatMulVectorGradient(CustomGradient):
    """The gradient of each factor is the product of dY with the other, summed over the axes that it
    lacks.

    Precondition: the ranks are known and one is one.
    """

    op: ClassVar[str] = "MatMul"
    note: ClassVar[str] = "given the workbench's gradient, since ONNX Runtime has none for a vector"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        ranks = [None if x is None or x.shape is None else len(x.shape) for x in node.inputs]
        return None not in ranks and 1 in ranks

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        left, right = (len(x.shape) for x in node.inputs if x is not None and x.shape is not None)
        a, b, gradient = graph.input(0), graph.input(1), graph.gradient()
        if left == right == 1:
            return {
                index: graph.node("Mul", gradient, other)
                for index, other in ((0, b), (1, a))
                if index in inputs_requiring_grad
            }
        vector, matrix = (1, 0) if right == 1 else (0, 1)
        # Of the matrix: the axis that the vector lies along is `along`, the other `across`.
        along, across = (-1, -2) if right == 1 else (-2, -1)
        results = {}
        if matrix in inputs_requiring_grad:
            spread = graph.node("Unsqueeze", gradient, graph.indices([along]))
            laid = graph.node("Unsqueeze", graph.input(vector), graph.indices([across]))
            results[matrix] = graph.node("Mul", laid, spread)
        if vector in inputs_requiring_grad:
            column = graph.node("Unsqueeze", gradient, graph.indices([across]))
            sides = (column, a) if right == 1 else (b, column)
            product = graph.node("MatMul", *sides)
            size = graph.node("Shape", graph.input(vector))
            rows = graph.node("Concat", graph.indices([-1]), size, axis=0)
            flat = graph.node("Reshape", product, rows)
            results[vector] = graph.node("ReduceSum", flat, graph.indices([0]), keepdims=0)
        return results
