"""Dropout and DropoutGrad by a vectorized kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from workbench.onnx_io.nodes import output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call

if TYPE_CHECKING:
    import onnx

_BYTES = ".bytes"
"""Suffix of the name of a mask: by DLPack, ONNX Runtime receives booleans as bytes."""


def dropout(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """Dropout in training: X, probability, true -> Y, mask. Its DropoutGrads follow."""
    if len(node.input) < 3 or not graph.is_float(node.input[0], node.output[0]):
        return None
    x, probability, training = node.input[:3]
    share, trains = graph.constant(probability), graph.constant(training)
    if share is None or trains is None or not trains.item() or not 0 <= share.item() < 1:
        return None
    mask = output(node, 1)
    readers = [other for other in graph.proto.node if mask and mask in other.input]
    if any(other.op_type != "DropoutGrad" for other in readers):
        return None
    if graph.uses[mask] != len(readers):
        return None
    made = f"{mask or node.output[0]}{_BYTES}"
    graph.declare(made, TensorProto.UINT8)
    graph.renamed[mask] = made
    outputs = [node.output[0], made]
    inputs = [x, probability]
    return [kernel_call(graph, "workbench_kernels::dropout", inputs, node, outputs)]


def dropout_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """DropoutGrad: dY, mask, probability -> dX, where the Dropout has been replaced."""
    dy, mask, probability = node.input[:3]
    made = graph.renamed.get(mask)
    if made is None:
        return None
    inputs = [dy, made, probability]
    return [kernel_call(graph, "workbench_kernels::dropout_backward", inputs, node, node.output)]
