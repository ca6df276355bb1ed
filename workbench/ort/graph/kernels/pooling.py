"""Puts the workbench's kernels of max pooling into a training graph, with the ReLU before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.ort.graph.kernels.window_attributes import window_attributes

if TYPE_CHECKING:
    import onnx


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
        if not editor.may_be_float(pool.input[0]):
            continue
        if _may_reach_nothing(attributes, editor.shape(pool.input[0]) or ()):
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


def _may_reach_nothing(attributes: dict[str, Any], shape: Sequence[int | None]) -> bool:
    """Whether a window may have no value of the picture, so that nothing is the largest."""
    of = attributes.__getitem__
    rows, columns = (1, *shape[2:])[-2:] if len(shape) > 2 else (None, None)
    return _may_miss(
        rows, of("height"), of("row_dilation"), max(of("top"), of("bottom"))
    ) or _may_miss(columns, of("width"), of("column_dilation"), max(of("left"), of("right")))


def _may_miss(size: int | None, length: int, dilation: int, border: int) -> bool:
    """Whether a window along one axis may lie in the border alone, or around the whole picture.

    Args:
        size: of the picture; None if it is dynamic.
        length: how many values the window has.
        dilation: their distance.
        border: the wider one.
    """
    return border > (length - 1) * dilation or (border > 0 and dilation > (size or 1))


def _relu(
    editor: GraphEditor, pool: onnx.NodeProto, slope: onnx.NodeProto
) -> tuple[onnx.NodeProto, onnx.NodeProto] | None:
    """The ReLU before a pooling, and its gradient, where they are for nothing else."""
    relu = editor.producer(pool.input[0], "Relu")
    relu_slope = editor.only_reader(slope.output[0])
    if relu is None or relu_slope is None or pool.input[0] in editor.outputs:
        return None
    if (relu_slope.domain, relu_slope.op_type) != (MICROSOFT, "ReluGrad"):
        return None
    if relu_slope.input[0] != slope.output[0]:
        return None
    if relu_slope.input[1] not in (relu.input[0], relu.output[0]):
        return None
    both = (id(pool), id(relu_slope))
    others = [each for each in editor.readers(relu.output[0]) if id(each) not in both]
    return None if others else (relu, relu_slope)
