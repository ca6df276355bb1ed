"""The gradient of batch normalization by the running statistics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import RUNNING, STATISTICS
from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class FrozenBatchNormalizationGradient(CustomGradient):
    """For Y = scale (X - mean) / d + bias with d = sqrt(var + epsilon):

    dX = dY scale / d,  dscale = sum(dY (X - mean)) / d,  dbias = sum(dY).

    ONNX Runtime's own gradient would use the statistics of the batch.
    Precondition: a layer in evaluation mode, so marked by the export; a known rank; nothing trains
    the statistics.
    """

    op: ClassVar[str] = "BatchNormalization"
    note: ClassVar[str] = "in evaluation mode: normalizes by the running statistics, and keeps them"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        source = node.inputs[0]
        return (
            node.metadata_props.get(STATISTICS) == RUNNING
            and node.attributes.get_int("training_mode", 0) == 0
            and source is not None
            and source.shape is not None
            and not {3, 4} & set(inputs_requiring_grad)
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        source = node.inputs[0]
        assert source is not None
        assert source.shape is not None
        rank = len(source.shape)
        along_channels = graph.indices([-1] + [1] * (rank - 2))
        others = graph.indices([0, *range(2, rank)])
        epsilon = graph.constant(node.attributes.get_float("epsilon", 1e-5))
        deviation = graph.node("Sqrt", graph.node("Add", graph.input(4), epsilon))
        gradient = graph.gradient()
        results = {}
        if 0 in inputs_requiring_grad:
            factor = graph.node("Div", graph.input(1), deviation)
            aligned = graph.node("Reshape", factor, along_channels)
            results[0] = graph.node("Mul", gradient, aligned)
        if 1 in inputs_requiring_grad:
            mean = graph.node("Reshape", graph.input(3), along_channels)
            product = graph.node("Mul", gradient, graph.node("Sub", graph.input(0), mean))
            summed = graph.node("ReduceSum", product, others, keepdims=0)
            results[1] = graph.node("Div", summed, deviation)
        if 2 in inputs_requiring_grad:
            results[2] = graph.node("ReduceSum", gradient, others, keepdims=0)
        return results
