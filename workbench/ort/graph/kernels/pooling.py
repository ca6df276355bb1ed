"""Puts the workbench's kernels of max pooling into a training graph, with the ReLU before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.kernels.window_attributes import window_attributes

if TYPE_CHECKING:
    import onnx

_MICROSOFT = "com.microsoft"


def write_pooling_kernels(model: onnx.ModelProto, domain: str) -> dict[str, str]:
    """Replace each MaxPool and its gradient, each by one kernel, in place.

    No indices are kept: the gradient finds them again. A ReLU whose result nothing else reads
    becomes part of both kernels, and its result is not kept either.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    from onnx import helper

    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for pool in editor.nodes:
        if pool.op_type != "MaxPool" or pool.domain or not output(pool, 1):
            continue
        slope = editor.only_reader(pool.output[1])
        sizes = attribute(pool, "kernel_shape", ())
        attributes = window_attributes(pool, sizes)
        if slope is None or slope.op_type != "MaxPoolGrad" or attributes is None:
            continue
        if not editor.may_be_float(pool.input[0]) or _reaches_nothing(attributes):
            continue
        before = _relu(editor, pool, slope)
        x, slopes = pool.input[0], slope.output[0]
        if before is not None:
            x, slopes = before[0].input[0], before[1].output[0]
            attributes["relu"] = 1
        forward = helper.make_node(
            "MaxPool", [x], pool.output[:1], pool.name, domain=domain, **attributes
        )
        backward = helper.make_node(
            *("MaxPoolGradient", [slope.input[0], x], [slopes], slope.name),
            domain=domain,
            **attributes,
        )
        relu, relu_slope = before or (None, None)
        editor.replace([each for each in (relu, pool) if each is not None], [forward])
        editor.replace([each for each in (slope, relu_slope) if each is not None], [backward])
        replaced |= {each.output[0]: each.output[0] for each in (forward, backward)}
    if replaced:
        editor.finish(model, "pooling kernels")
    return replaced


def _reaches_nothing(attributes: dict[str, Any]) -> bool:
    """Whether a window may lie in the border alone, where nothing is the largest."""
    rows = (attributes["height"] - 1) * attributes["row_dilation"] + 1
    columns = (attributes["width"] - 1) * attributes["column_dilation"] + 1
    beyond_rows = max(attributes["top"], attributes["bottom"]) >= rows
    return bool(beyond_rows or max(attributes["left"], attributes["right"]) >= columns)


def _relu(
    editor: GraphEditor, pool: onnx.NodeProto, slope: onnx.NodeProto
) -> tuple[onnx.NodeProto, onnx.NodeProto] | None:
    """The ReLU before a pooling, and its gradient, where they are for nothing else."""
    relu = editor.producer(pool.input[0], "Relu")
    relu_slope = editor.only_reader(slope.output[0])
    if relu is None or relu_slope is None or pool.input[0] in editor.outputs:
        return None
    if (relu_slope.domain, relu_slope.op_type) != (_MICROSOFT, "ReluGrad"):
        return None
    if relu_slope.input[0] != slope.output[0]:
        return None
    if relu_slope.input[1] not in (relu.input[0], relu.output[0]):
        return None
    both = (id(pool), id(relu_slope))
    others = [each for each in editor.readers(relu.output[0]) if id(each) not in both]
    return None if others else (relu, relu_slope)
