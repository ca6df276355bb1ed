"""LayerNormalizationGrad by PyTorch's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ort.ortmodule.aten.graph import Graph, attribute, output

if TYPE_CHECKING:
    import onnx


def layer_norm_gradient(node: onnx.NodeProto, graph: Graph) -> list[onnx.NodeProto] | None:
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
    # It reads nothing of the bias.
    inputs += [scale, scale, graph.truths([bool(name) for name in wanted])]
    return [graph.kernel("aten::native_layer_norm_backward", inputs, node, wanted)]
