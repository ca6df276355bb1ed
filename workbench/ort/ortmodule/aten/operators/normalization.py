"""LayerNormalization and its gradient by PyTorch's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call

if TYPE_CHECKING:
    import onnx


LEAST_ELEMENTS = 4_096
"""Elements of a sample below which the overhead of PyTorch's kernel exceeds its gain."""


def layer_norm(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """LayerNormalization: X, scale, bias -> Y, mean, 1 / deviation."""
    x, scale, *rest = node.input
    bias = rest[0] if rest else ""
    shape, sizes = graph.shape(scale), graph.shape(x)
    if shape is None or None in shape or sizes is None or not graph.is_float(x, scale):
        return None
    if len(sizes) - len(shape) != attribute(node, "axis", -1) % len(sizes):
        return None
    if attribute(node, "stash_type", 1) != 1 or graph.elements(x) < LEAST_ELEMENTS:
        return None
    inputs = [x, graph.integers([size or 0 for size in shape]), scale, bias]
    inputs.append(graph.real(attribute(node, "epsilon", 1e-5)))
    outputs = [output(node, index) for index in range(3)]
    return [kernel_call(graph, "aten::native_layer_norm", inputs, node, outputs)]


def layer_norm_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """LayerNormalizationGrad: dY, X, scale, mean, 1 / deviation -> dX, dScale, dBias."""
    dy, x, scale, mean, deviation = node.input
    shape, sizes = graph.shape(scale), graph.shape(x)
    if shape is None or None in shape or sizes is None or not graph.is_float(x, scale):
        return None
    axis = attribute(node, "axis", -1)
    if len(sizes) - len(shape) != axis % len(sizes):
        return None
    wanted = [output(node, index) for index in range(3)]
    inputs = [dy, x, graph.integers([size or 0 for size in shape]), mean, deviation]
    # It does not read the bias.
    inputs += [scale, scale, graph.booleans([bool(name) for name in wanted])]
    return [kernel_call(graph, "aten::native_layer_norm_backward", inputs, node, wanted)]
