"""Rewrites losses so that nothing is computed for ignored labels.

The rows of logits whose label counts are selected first, and so are the rows of earlier values, as
far back as each row is computed independently. Most labels of masked-token training are
ignored: its last layers, which are as wide as the vocabulary, then compute a fraction of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from workbench.onnx_io.nodes import attribute, sort_nodes
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import INT64
from workbench.ort.graph.rewrites.ignoring_loss import IgnoringLoss, ignoring_loss

if TYPE_CHECKING:
    import onnx

_LOSSES = {"LogSoftmax", "SoftmaxCrossEntropyLoss"}
"""Operators that a loss over logits begins with."""

_ELEMENTWISE = {"Tanh", "Gelu", "Relu", "Sigmoid", "Erf", "Identity"}
"""Elementwise operators."""

_END = 2**63 - 1
"""End of a slice without an end."""

_Chain: TypeAlias = "list[tuple[onnx.NodeProto, int]]"
"""Nodes that compute rows independently, from the last to the first, with the index of the input
that has the rows."""


class SparseLoss(NamedTuple):
    """A loss that computes only rows whose label counts."""

    operator: str
    """Operator of the node that reads the logits."""
    node: str
    """The first output of that node."""
    added: tuple[str, ...]
    """The outputs of the nodes that select the rows."""


def leave_out_ignored_labels(model: onnx.ModelProto) -> list[SparseLoss]:
    """Rewrite every such loss of `model`, in place.

    A loss is not changed if its logits are a result of the model, or have other readers, which
    need all rows.

    Args:
        model: a forward pass.

    Returns:
        The losses that were rewritten.
    """
    import onnx

    outputs, rewritten = output_specs(model), []
    for name in [node.output[0] for node in model.graph.node if node.op_type in _LOSSES]:
        inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
        graph = GraphEditor(model.graph, inferred)
        loss = ignoring_loss(graph, graph.producers[name])
        chain = [] if loss is None else _computed_by_row(graph, loss.node.input[0])
        if loss is None or not _is_worthwhile(chain, loss.node):
            continue
        before = len(model.graph.node)
        _select_rows(graph, loss, chain)
        added = tuple(node.output[0] for node in model.graph.node[before:])
        rewritten.append(SparseLoss(loss.node.op_type, name, added))
        _remove(graph, [node for node, _ in chain if node.op_type == "Reshape"])
        sort_nodes(model.graph, "The graph with its loss")
        check_rewrite(model, "ignored labels left out", outputs)
    return rewritten


def _is_worthwhile(chain: _Chain, loss: onnx.NodeProto) -> bool:
    """Whether matrix products become smaller, and labels are likely to be ignored.

    The workbench's own losses all ignore a label. One of a label for each sample has none of them;
    one of a label for each position of a sequence, whose logits are therefore flattened, may.
    """
    operators = {node.op_type for node, _ in chain}
    flattened = "Reshape" in operators or loss.op_type == "LogSoftmax"
    return flattened and not operators.isdisjoint(("MatMul", "Gemm"))


def _select_rows(graph: GraphEditor, loss: IgnoringLoss, chain: _Chain) -> None:
    """Make the loss read the labels that count, and their rows."""
    name = f"{loss.node.output[0]}.labelled"
    first, place = chain[-1]
    rows = _rows_that_count(graph, name, loss.labels, loss.ignored_value(graph))
    selected_labels = _add(graph, "Gather", [loss.labels, rows], f"{name}.labels", axis=0)
    selected = _gathered_rows(graph, name, first.input[place], rows)

    for node, place in reversed(chain):
        if node.op_type != "Reshape":
            node.input[place] = selected
            selected = node.output[0]
            _count_axis_from_the_end(node)
    loss.node.input[0] = selected
    for reader in loss.readers:
        reader.input[list(reader.input).index(loss.labels)] = selected_labels
    _forget_shapes(graph, [node for node, _ in chain] + loss.readers)


def _rows_that_count(graph: GraphEditor, name: str, labels: str, ignored: str) -> str:
    """The indices of the rows whose label is not ignored, and of the first row.

    The first row is always kept: kernels cannot sum over zero rows.
    """
    is_ignored = _add(graph, "Equal", [labels, ignored], f"{name}.ignored")
    counts = _add(graph, "Not", [is_ignored], f"{name}.counts")
    after_first = [counts, graph.integers([1]), graph.integers([_END])]
    others = _add(graph, "Slice", after_first, f"{name}.others")
    kept = _add(graph, "Concat", [graph.booleans([True]), others], f"{name}.kept", axis=0)
    indices = _add(graph, "NonZero", [kept], f"{name}.indices")
    rows = _add(graph, "Squeeze", [indices, graph.integers([0])], f"{name}.rows")
    # ONNX Runtime reuses memory where it knows that sizes are the same.
    graph.declare(rows, INT64, [f"{name}.count"])
    return rows


def _gathered_rows(graph: GraphEditor, name: str, base: str, rows: str) -> str:
    """Those `rows` of `base`, whose axes before the last count as one."""
    shape = graph.shape(base)
    assert shape is not None
    assert shape[-1] is not None
    if len(shape) > 2:
        flat = [base, graph.integers([-1, shape[-1]])]
        base = _add(graph, "Reshape", flat, f"{name}.all")
    return _add(graph, "Gather", [base, rows], f"{name}.picked", axis=0)


def _add(
    graph: GraphEditor, op_type: str, inputs: list[str], output: str, **attributes: Any
) -> str:
    """Append a node with one output, whose name is returned."""
    from onnx import helper

    node = helper.make_node(op_type, inputs, [output], output, **attributes)
    graph.proto.node.append(node)
    return output


def _count_axis_from_the_end(node: onnx.NodeProto) -> None:
    """The rows may have had more axes before; the last axis is the same."""
    for each in node.attribute:
        if each.name == "axis":
            each.i = -1


def _remove(graph: GraphEditor, reshapes: list[onnx.NodeProto]) -> None:
    """Remove `reshapes`, and their shapes where nothing else reads them."""
    unread = {node.input[1] for node in reshapes if graph.uses[node.input[1]] == 1}
    for node in reshapes:
        graph.proto.node.remove(node)
    for tensor in list(graph.proto.initializer):
        if tensor.name in unread:
            graph.proto.initializer.remove(tensor)


def _computed_by_row(graph: GraphEditor, value: str) -> _Chain:
    """The nodes, from the last to the first, that lead to `value` and compute rows independently.

    Each with the index of the input that has the rows. No other node reads their results.
    """
    chain: _Chain = []
    while graph.only_reader(value) is not None and value in graph.producers:
        node = graph.producers[value]
        place = _row_input(graph, node)
        if place is None:
            break
        chain.append((node, place))
        value = node.input[place]
    # Rows are recognized by their width.
    while chain and (graph.shape(chain[-1][0].input[chain[-1][1]]) or (None,))[-1] is None:
        chain.pop()
    return chain


def _row_input(graph: GraphEditor, node: onnx.NodeProto) -> int | None:
    """The index of the input that has rows, if `node` computes them independently."""
    first = graph.shape(node.input[0])
    if first is None or any(name for name in node.output[1:] if graph.readers(name)):
        return None
    rank = len(first)
    if node.op_type in ("Add", "Mul", "Sub", "Div"):
        ranks = [graph.rank(name) for name in node.input]
        for place in (0, 1):
            rows, other = ranks[place], ranks[1 - place]
            if rows is not None and rows > 1 and other is not None and other < 2:
                return place
        return None
    if node.op_type == "Reshape":
        made = graph.shape(node.output[0])
        if made is None or len(made) != 2 or made[1] is None:
            return None
        return 0 if rank > 1 and made[1] == first[-1] else None
    if node.op_type == "MatMul":
        alone = graph.rank(node.input[1]) == 2
    elif node.op_type == "Gemm":
        alone = attribute(node, "transA", 0) == 0 and all(
            graph.rank(name) == 1 for name in node.input[2:]
        )
    elif node.op_type == "LayerNormalization":
        alone = attribute(node, "axis", -1) in (-1, rank - 1)
    else:
        alone = node.op_type in _ELEMENTWISE
    return 0 if alone and rank > 1 else None


def _forget_shapes(graph: GraphEditor, nodes: list[onnx.NodeProto]) -> None:
    """Drop the shapes of values computed from `nodes`, which now have fewer rows."""
    pending, fewer = list(nodes), set[str]()
    while pending:
        for name in pending.pop().output:
            if name not in fewer:
                fewer.add(name)
                pending += graph.readers(name)
    kept = [value for value in graph.proto.value_info if value.name not in fewer]
    del graph.proto.value_info[:]
    graph.proto.value_info.extend(kept)
