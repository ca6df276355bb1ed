"""The gradient of an embedding whose padding row is not trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import PADDING_INDEX
from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.differentiable import MICROSOFT


class PaddedEmbeddingGradient(CustomGradient):
    """Sums the gradients of the lookups of each row, except for the padding row.

    Precondition: the export marked the lookup as one with `padding_idx`.
    """

    op: ClassVar[str] = "Gather"
    note: ClassVar[str] = "passes no gradient to the row padding_idx"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return PADDING_INDEX in node.metadata_props and 0 in inputs_requiring_grad

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        padding = int(node.metadata_props[PADDING_INDEX])
        indices = graph.input(1)
        padded = graph.node("Equal", indices, _like(node, padding, graph))
        kept = graph.node("Cast", graph.node("Not", padded), to=int(ir.DataType.FLOAT))
        rows = graph.node("Unsqueeze", kept, graph.indices([-1]))
        gradient = graph.node("Mul", graph.gradient(), rows)
        shape = graph.node("Shape", graph.input(0))
        made = graph.node("GatherGrad", shape, indices, gradient, domain=MICROSOFT, axis=0)
        return {0: made}


def _like(node: ir.Node, number: int, graph: BackwardGraph) -> str:
    """`number` in the integer type of the indices."""
    indices = node.inputs[1]
    assert indices is not None
    return graph.constant(number, (indices.dtype or ir.DataType.INT64).numpy())
