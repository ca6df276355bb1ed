"""Puts the workbench's kernels of small convolutions and their gradients into a training graph."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.ort.graph.kernels.window_attributes import window_attributes

if TYPE_CHECKING:
    import onnx

MOST_WEIGHTS = 2**16
"""Of a convolution that our kernels compute faster; 64 to 64 channels of 3 x 3 have 36,864."""

LEAST_TAPS = 16
"""Products of each result. A convolution of fewer writes its results in most of its time, and ONNX
Runtime's does that as fast; its gradient is a kernel of ours all the same."""

LEAST_FILTERS = 8
"""Of a group. The filters of a group are side by side in a register; with one each, as where each
channel has its own, most of it would be empty."""


def write_convolution_kernels(model: onnx.ModelProto, domain: str) -> dict[str, str]:
    """Replace small convolutions and their gradients, in place.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for node in editor.nodes:
        if (node.domain, node.op_type) == ("", "Conv"):
            made = _forward(editor, node, domain)
        elif (node.domain, node.op_type) == (MICROSOFT, "ConvGrad"):
            made = _backward(editor, node, domain)
        else:
            continue
        if made is not None:
            editor.replace([node], [made])
            replaced[made.output[0]] = next(filter(None, node.output))
    if replaced:
        editor.finish(model, "convolution kernels")
    return replaced


def _forward(editor: GraphEditor, node: onnx.NodeProto, domain: str) -> onnx.NodeProto | None:
    from onnx import helper

    attributes = _attributes(editor, node, node.input[1])
    if attributes is None or not all(editor.may_be_float(name) for name in node.input if name):
        return None
    if math.prod(size or 0 for size in (editor.shape(node.input[1]) or ())[1:]) < LEAST_TAPS:
        return None
    bias = node.input[2] if len(node.input) > 2 and node.input[2] else editor.real(0.0)
    inputs = [*node.input[:2], bias]
    return helper.make_node(
        "Convolution", inputs, node.output, node.name, domain=domain, **attributes
    )


def _backward(editor: GraphEditor, node: onnx.NodeProto, domain: str) -> onnx.NodeProto | None:
    """None as well where the weights are frozen."""
    from onnx import helper

    attributes = _attributes(editor, node, node.input[2])
    of_input, of_weights, of_bias = (output(node, index) for index in range(3))
    if attributes is None or not of_weights:
        return None
    if not all(editor.may_be_float(name) for name in node.input):
        return None
    # Nothing reads that of a bias that is not there.
    results = [of_weights, of_bias or f"{of_weights}.bias"]
    operator = "ConvolutionGradient" if of_input else "ConvolutionWeightGradient"
    results = [of_input, *results] if of_input else results
    return helper.make_node(operator, node.input, results, node.name, domain=domain, **attributes)


def _attributes(editor: GraphEditor, node: onnx.NodeProto, weights: str) -> dict[str, Any] | None:
    """Of the kernels; None where they do not compute the convolution, or not faster."""
    shape = editor.shape(weights)
    if shape is None:
        return None
    sizes = [size for size in shape if size is not None]
    groups = attribute(node, "group", 1)
    if len(sizes) < len(shape) or math.prod(sizes) > MOST_WEIGHTS:
        return None
    # A window of one value is a matrix product, which is not ours.
    if sizes[0] // groups < LEAST_FILTERS or math.prod(sizes[2:]) == 1:
        return None
    window = window_attributes(node, sizes[2:])
    return None if window is None else {**window, "groups": groups}
