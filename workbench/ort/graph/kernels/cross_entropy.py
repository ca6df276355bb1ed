"""Puts the workbench's kernels of cross entropy, which keep no log probabilities, into a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import attribute, output
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import INT64, MICROSOFT

if TYPE_CHECKING:
    import onnx


def write_cross_entropy_kernels(model: onnx.ModelProto, domain: str) -> dict[str, str]:
    """Replace cross entropy of rows of scores and its gradient, each by one kernel, in place.

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
        if slope.op_type != "SoftmaxCrossEntropyLossGrad" or slope.domain != MICROSOFT:
            continue
        loss = editor.producers.get(slope.input[1])
        if loss is None or not _computed(editor, loss, slope):
            continue
        result = loss.output[0]
        inputs = [*loss.input[:2], *(loss.input[2:] or [editor.real(1.0)])]
        rows = [f"{result}.largest_scores", f"{result}.inverse_sums"]
        attributes = _attributes(loss)
        forward = helper.make_node(
            "CrossEntropy", inputs, [result, *rows], loss.name, domain=domain, **attributes
        )
        backward = helper.make_node(
            *("CrossEntropyGradient", [slope.input[0], *inputs, *rows], slope.output, slope.name),
            domain=domain,
            **attributes,
        )
        # ONNX Runtime reuses the memory of the scores where it knows that the sizes are the same.
        editor.declare(slope.output[0], shape=editor.named_shape(inputs[0]))
        editor.replace([loss], [forward])
        editor.replace([slope], [backward])
        replaced |= {each.output[0]: each.output[0] for each in (forward, backward)}
    if replaced:
        editor.finish(model, "cross entropy kernels")
    return replaced


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    mean = attribute(node, "reduction", b"mean") == b"mean"
    ignored = attribute(node, "ignore_index", None)
    return {"mean": int(mean)} | ({} if ignored is None else {"ignore_index": ignored})


def _computed(editor: GraphEditor, loss: onnx.NodeProto, slope: onnx.NodeProto) -> bool:
    """Whether the kernels compute what both nodes do."""
    scores, labels, *weights = loss.input
    logarithms = output(loss, 1)
    return (
        (loss.op_type, loss.domain) == ("SoftmaxCrossEntropyLoss", "")
        and list(slope.input[1:]) == [logarithms, labels, *weights]
        and editor.only_reader(logarithms) is slope
        and _attributes(loss) == _attributes(slope)
        and attribute(loss, "reduction", b"mean") in (b"mean", b"sum")
        # Of the two ranks one may not be known, as that of a network's output.
        and (editor.rank(scores) == 2 or editor.rank(labels) == 1)
        and all(editor.may_be_float(name) for name in (scores, *weights))
        and editor.element_type(labels) == INT64
    )
