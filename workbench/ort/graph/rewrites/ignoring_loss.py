"""Finds losses that ignore labels, and the nodes that read these labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import INT64

if TYPE_CHECKING:
    import onnx

_BETWEEN = {"Where", "Unsqueeze", "Squeeze", "GatherElements", "Neg", "Not", "Cast"}
"""Operators between the log softmax, or the comparison of labels, and the sums over all rows."""


class IgnoringLoss(NamedTuple):
    """A cross entropy over rows of logits, some of whose labels are ignored."""

    node: onnx.NodeProto
    """Node whose first input is the logits, (rows, classes)."""
    labels: str
    """(rows,)"""
    ignored: str | int
    """The label that is ignored: a value of the graph, or a number."""
    readers: list[onnx.NodeProto]
    """Nodes that read the labels for this loss."""

    def ignored_value(self, graph: GraphEditor) -> str:
        return graph.integer(self.ignored) if isinstance(self.ignored, int) else self.ignored


def ignoring_loss(graph: GraphEditor, node: onnx.NodeProto) -> IgnoringLoss | None:
    """The loss that begins with `node`; None where there is none."""
    if node.op_type == "LogSoftmax":
        return _written_out(graph, node)
    return _one_operator(graph, node) if node.op_type == "SoftmaxCrossEntropyLoss" else None


def _one_operator(graph: GraphEditor, node: onnx.NodeProto) -> IgnoringLoss | None:
    """A loss in the form of the workbench and of PyTorch's older exporter."""
    scores, labels = node.input[:2]
    ignored = attribute(node, "ignore_index", None)
    if ignored is None or graph.rank(scores) != 2 or graph.rank(labels) != 1:
        return None
    if attribute(node, "reduction", b"mean") == b"none" or graph.element_type(labels) != INT64:
        return None
    if any(name in graph.outputs or graph.readers(name) for name in node.output[1:]):
        return None
    return IgnoringLoss(node, labels, ignored, [node])


def _written_out(graph: GraphEditor, softmax: onnx.NodeProto) -> IgnoringLoss | None:
    """A loss in the form of `torch.export`.

    Log softmax, selection by label, 0 where the label is ignored, sum, division by the number of
    other labels.
    """
    if graph.rank(softmax.input[0]) != 2 or attribute(softmax, "axis", -1) not in (1, -1):
        return None
    node: onnx.NodeProto | None = graph.only_reader(softmax.output[0])
    masked = None
    # From the selection in each row back to the labels: GatherElements, Unsqueeze, Where.
    for op_type, place in (("GatherElements", 1), ("Unsqueeze", 0), ("Where", 0)):
        if node is None or node.op_type != op_type or not _of_classes(graph, node):
            return None
        masked, node = node, graph.producers.get(node.input[place])
    if masked is None or node is None or node.op_type != "Equal":
        return None
    labels, ignored = node.input
    same = [
        reader
        for reader in graph.readers(labels)
        if reader.op_type == "Equal" and list(reader.input) == [labels, ignored]
    ]
    fitting = masked.input[2] == labels and graph.rank(labels) == 1 and graph.rank(ignored) == 0
    equal = {reader.output[0] for reader in same}
    if not fitting or not _ends_in_sums(graph, [softmax, *same], labels, equal):
        return None
    return IgnoringLoss(softmax, labels, ignored, [*same, masked])


def _of_classes(graph: GraphEditor, node: onnx.NodeProto) -> bool:
    """Whether a selection, or the axis that is added for it, is along the classes of each row."""
    if node.op_type == "GatherElements":
        return attribute(node, "axis", 0) in (1, -1)
    return node.op_type != "Unsqueeze" or graph.scalar(node.input[1]) in (1, -1)


def _ends_in_sums(
    graph: GraphEditor, nodes: list[onnx.NodeProto], labels: str, equal: set[str]
) -> bool:
    """Whether all values computed from `nodes` end in sums over rows that are 0 where ignored."""
    pending, visited = list(nodes), {labels}
    between: list[onnx.NodeProto] = []
    while pending:
        node = pending.pop()
        for name in node.output:
            if name in visited:
                continue
            visited.add(name)
            if name in graph.outputs:
                return False
            for reader in graph.readers(name):
                if reader.op_type == "ReduceSum":
                    if len(reader.input) > 1 or not _zero_where_ignored(graph, name, equal):
                        return False
                elif reader.op_type in _BETWEEN:
                    pending.append(reader)
                    between.append(reader)
                else:
                    return False
    return all(_is_by_row(graph, node, visited) for node in between)


def _is_by_row(graph: GraphEditor, node: onnx.NodeProto, of_rows: set[str]) -> bool:
    """Whether each row of the result is made of that row of values `of_rows`, and of single
    numbers."""
    if node.op_type in ("Unsqueeze", "Squeeze"):
        return True
    rows = [name for name in node.input if graph.shape(name) not in ((), (1,))]
    ranks = {graph.rank(name) for name in rows}
    return of_rows.issuperset(rows) and None not in ranks and len(ranks) == 1


def _zero_where_ignored(graph: GraphEditor, name: str, equal: set[str]) -> bool:
    node = graph.producers[name]
    if node.op_type == "Cast":
        inverted = graph.producers.get(node.input[0])
        return inverted is not None and inverted.op_type == "Not" and inverted.input[0] in equal
    if node.op_type != "Where" or node.input[0] not in equal:
        return False
    zero = graph.constant(node.input[1])
    return zero is not None and not zero.any()
