"""The gradient of a linear layer whose input may have zero rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import FOUND_ROWS
from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient

_FOUND = re.compile(r"u\d+")
"""Name in torch.export of a size that depends on the values of a tensor."""


class FoundRowsGemmGradient(CustomGradient):
    """Gradients of Y = X W + b, with a row of zeros added to X and dY in dW = X' dY.

    ONNX Runtime's product over zero rows is an error, not zero, and rows that are chosen by
    their values, such as those that a router sends to an expert, may be none.

    Precondition: the number of rows depends on values in torch.export, or the node
    is marked `FOUND_ROWS`; X is not transposed, nothing is scaled, the sizes of W are known.
    """

    op: ClassVar[str] = "Gemm"
    note: ClassVar[str] = "given the workbench's gradient, since ONNX Runtime's fails for zero rows"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        weight = node.inputs[1]
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        return (
            _finds_rows(node)
            and weight is not None
            and weight.shape is not None
            and weight.shape.is_static()
            and (
                2 not in inputs_requiring_grad or (bias is not None and len(bias.shape or ()) == 1)
            )
            and node.attributes.get_int("transA", 0) == 0
            and all(node.attributes.get_float(name, 1.0) == 1.0 for name in ("alpha", "beta"))
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        weight = node.inputs[1]
        assert weight is not None
        assert weight.shape is not None
        transposed = node.attributes.get_int("transB", 0)
        sizes = [int(size) for size in weight.shape.numpy()]
        outward, inward = sizes if transposed else sizes[::-1]
        gradient = graph.gradient()
        results = {}
        if 0 in inputs_requiring_grad:
            results[0] = graph.node("Gemm", gradient, graph.input(1), transB=1 - transposed)
        if 1 in inputs_requiring_grad:
            given = _one_more(graph.input(0), inward, graph)
            due = _one_more(gradient, outward, graph)
            sides = (due, given) if transposed else (given, due)
            results[1] = graph.node("Gemm", *sides, transA=1)
        if 2 in inputs_requiring_grad:
            results[2] = graph.node("ReduceSum", gradient, graph.indices([0]), keepdims=0)
        return results


def _finds_rows(node: ir.Node) -> bool:
    if FOUND_ROWS in node.metadata_props:
        return True
    rows = node.inputs[0]
    if rows is None or rows.shape is None or isinstance(rows.shape[0], int):
        return False
    return bool(_FOUND.fullmatch(str(rows.shape[0].value)))


def _one_more(rows: str, width: int, graph: BackwardGraph) -> str:
    """`rows` and one of zeros."""
    return graph.node("Concat", rows, graph.constant([[0.0] * width]), axis=0)
