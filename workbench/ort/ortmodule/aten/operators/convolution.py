"""Conv and ConvGrad by PyTorch's convolution, which is oneDNN's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call
from workbench.ort.ortmodule.aten.operators.windows import windows_of

if TYPE_CHECKING:
    import onnx

LEAST_WORK = 100_000
"""Multiplications of a sample below which the overhead of PyTorch's kernel exceeds its gain."""

LEAST_CHANNELS = 4
"""Channels below which oneDNN computes the gradient of the input slowly."""


class _ConvolutionCall(NamedTuple):
    arguments: list[str]
    """Stride, padding, dilation, transposed, output padding, groups."""
    filters: int
    work: int
    """Multiplications of a sample, by the known sizes."""
    is_pointwise: bool
    channels: int
    """Of the input."""


def convolution(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """Conv: X (N, C, ...), W (M, C / group, ...), optionally B (M)."""
    x, weight, *bias = node.input
    found = _convolution(node, graph, weight, output(node, 0))
    if found is None or found.is_pointwise or found.work < LEAST_WORK:
        return None
    inputs = [x, weight, bias[0] if bias else "", *found.arguments]
    return [kernel_call(graph, "aten::convolution", inputs, node, node.output)]


def convolution_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """ConvGrad: dY, X, W -> dX, dW, dB, each of which may be omitted."""
    dy, x, weight = node.input
    found = _convolution(node, graph, weight, dy)
    if found is None or found.is_pointwise or found.work < LEAST_WORK:
        return None
    wanted = [output(node, index) for index in range(3)]
    if wanted[0] and found.channels < LEAST_CHANNELS:
        return None
    inputs = [dy, x, weight, graph.integers([found.filters]), *found.arguments]
    inputs.append(graph.booleans([bool(name) for name in wanted]))
    return [kernel_call(graph, "aten::convolution_backward", inputs, node, wanted)]


def _convolution(
    node: onnx.NodeProto, graph: GraphEditor, weight: str, result: str
) -> _ConvolutionCall | None:
    shape = graph.shape(weight)
    if shape is None or None in shape or not graph.is_float(weight, result):
        return None
    filters, channels, *kernel = [size or 0 for size in shape]
    windows = windows_of(node, len(kernel))
    if windows is None or not windows.is_even:
        return None
    axes, groups = len(kernel), attribute(node, "group", 1)
    arguments = [
        graph.integers(windows.strides),
        graph.integers(windows.padding),
        graph.integers(windows.dilations),
        graph.truth(False),
        graph.integers([0] * axes),
        graph.integer(groups),
    ]
    places = math.prod(size or 1 for size in (graph.shape(result) or ())[2:])
    work = filters * channels * math.prod(kernel) * places
    pointwise = math.prod(kernel) == 1
    return _ConvolutionCall(arguments, filters, work, pointwise, channels * groups)
