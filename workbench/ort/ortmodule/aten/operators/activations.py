"""Gradients of activations, and GELU, whose ONNX Runtime kernels are not vectorized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call

if TYPE_CHECKING:
    import onnx

LEAST_ELEMENTS = 8_192
"""Elements of a sample below which the overhead of PyTorch's GELU exceeds its gain."""


def relu_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """ReluGrad: dY, Y -> dX, zero where Y is."""
    dy, y = node.input
    if not graph.is_float(dy, y):
        return None
    return [
        kernel_call(graph, "aten::threshold_backward", [dy, y, graph.real(0.0)], node, node.output)
    ]


def gelu(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """Exact Gelu: X -> Y."""
    [x] = node.input
    if attribute(node, "approximate", b"none") != b"none" or not graph.is_float(x):
        return None
    if graph.elements(x) < LEAST_ELEMENTS:
        return None
    return [kernel_call(graph, "aten::gelu", [x], node, node.output)]


def gelu_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """GeluGrad of the exact Gelu: dY, X -> dX."""
    dy, x = node.input
    if not graph.is_float(dy, x) or graph.elements(x) < LEAST_ELEMENTS:
        return None
    return [kernel_call(graph, "aten::gelu_backward", [dy, x], node, node.output)]


def fast_gelu_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """FastGeluGrad, of the tanh approximation: dY, X -> dX."""
    if len(node.input) != 2 or not graph.is_float(*node.input):
        return None
    inputs = [*node.input, graph.text("tanh")]
    return [kernel_call(graph, "aten::gelu_backward", inputs, node, node.output)]


def softmax_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """SoftmaxGrad_13: dY, Y -> dX along one axis."""
    dy, y = node.input
    if not graph.is_float(dy, y) or graph.elements(y) < LEAST_ELEMENTS:
        return None
    axis = graph.integer(attribute(node, "axis", -1))
    # PyTorch numbers its dtypes; 6 is float32.
    inputs = [dy, y, axis, graph.integer(6)]
    return [kernel_call(graph, "aten::_softmax_backward_data", inputs, node, node.output)]
