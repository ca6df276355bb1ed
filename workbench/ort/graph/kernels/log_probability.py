"""Puts the workbench's kernels of log probabilities at labels into a training graph.

A loss that a module computes itself is often exported so: LogSoftmax, of which GatherElements takes
one class of each row. Written as one kernel each way, no logarithms of the other classes are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import INT64, MICROSOFT

if TYPE_CHECKING:
    import onnx


def write_log_probability_kernels(model: onnx.ModelProto, domain: str) -> dict[str, str]:
    """Replace a LogSoftmax of which one class of each row is read, and its gradient, in place.

    Args:
        model: both passes, as ONNX Runtime builds them.
        domain: of the kernels.

    Returns:
        First output of each new node -> first output of the node that it replaced.
    """
    from onnx import helper

    editor = GraphEditor(model.graph)
    replaced: dict[str, str] = {}
    for slope in editor.nodes:
        nodes = _nodes(editor, slope)
        if nodes is None:
            continue
        softmax, shape, gather, spread = nodes
        scores, labels, value = softmax.input[0], gather.input[1], gather.output[0]
        upstream, gradient = spread.input[0], slope.output[0]
        as_integers = f"{value}.labels"
        rows = [f"{value}.largest_scores", f"{value}.inverse_sums"]
        forward = helper.make_node(
            "LogProbability", [scores, as_integers], [value, *rows], gather.name, domain=domain
        )
        cast = helper.make_node("Cast", [labels], [as_integers], to=INT64)
        backward = helper.make_node(
            *("LogProbabilityGradient", [upstream, scores, as_integers, *rows]),
            *([gradient], slope.name),
            domain=domain,
        )
        # ONNX Runtime reuses the memory of the scores where it knows that the sizes are the same.
        known = next(
            (
                found
                for name in (scores, softmax.output[0], spread.output[0], gradient)
                if (found := editor.named_shape(name)) is not None
            ),
            None,
        )
        for name in (scores, gradient):
            editor.declare(name, shape=known)
        editor.replace([softmax, *shape, gather], [cast, forward], at=gather)
        editor.replace([spread, slope], [backward])
        replaced |= {value: value, gradient: gradient}
    if replaced:
        editor.finish(model, "log probability kernels")
    return replaced


def _nodes(
    editor: GraphEditor, slope: onnx.NodeProto
) -> tuple[onnx.NodeProto, list[onnx.NodeProto], onnx.NodeProto, onnx.NodeProto] | None:
    """The LogSoftmax whose gradient `slope` is, the node that takes its shape, if any, that which
    takes one class of each row, and that one's gradient; None of all else."""
    if (slope.op_type, slope.domain) != ("LogSoftmaxGrad_13", MICROSOFT):
        return None
    logs = slope.input[1]
    softmax = editor.producer(logs, "LogSoftmax")
    spread = editor.producers.get(slope.input[0])
    readers = {node.op_type: node for node in editor.readers(logs)}
    gather = readers.pop("GatherElements", None)
    if softmax is None or gather is None or spread is None or logs in editor.outputs:
        return None
    readers.pop(slope.op_type)
    shape = readers.pop("Shape", None)
    alone = (
        not readers
        and editor.uses[logs] == 2 + (shape is not None)
        and editor.uses[spread.output[0]] == 1
        and (shape is None or editor.only_reader(shape.output[0]) is spread)
    )
    same = (
        (spread.op_type, spread.domain) == ("GatherElementsGrad", MICROSOFT)
        and spread.input[2] == gather.input[1]
        and editor.may_be_float(softmax.input[0])
        and all(_is_last(editor, node, softmax, slope) for node in (softmax, slope, gather, spread))
        and _is_one_of_each_row(editor, softmax.input[0], gather)
    )
    return (softmax, [] if shape is None else [shape], gather, spread) if alone and same else None


def _is_last(
    editor: GraphEditor, node: onnx.NodeProto, softmax: onnx.NodeProto, slope: onnx.NodeProto
) -> bool:
    axis = attribute(node, "axis", 0 if node.op_type.startswith("GatherElements") else -1)
    names = (softmax.input[0], softmax.output[0], slope.input[0], slope.output[0])
    ranks = {rank for name in names if (rank := editor.rank(name)) is not None}
    return axis == -1 or ranks == {axis + 1}


def _is_one_of_each_row(editor: GraphEditor, scores: str, gather: onnx.NodeProto) -> bool:
    """Whether the labels have a last axis of one, and are, as far as known, as many as the rows."""
    logs, labels = gather.input
    rows = editor.named_shape(scores) or editor.named_shape(logs)
    labelled = editor.named_shape(labels)
    if rows and labelled and rows[:-1] != labelled[:-1]:
        return False
    shape = editor.shape(labels)
    made = editor.producer(labels, "Unsqueeze")
    axes = None if made is None else editor.constant(made.input[1])
    last = {-1, attribute(gather, "axis", 0)}
    return (shape is not None and shape[-1:] == (1,)) or (
        axes is not None and axes.size == 1 and int(axes.item()) in last
    )
