"""A loss that computes nothing for the labels that it ignores.

`torch.export` writes a cross entropy over rows of logits as: log softmax, pick the label's, put 0
where the label is ignored, add up, divide by the number of the others. Here the other rows are
picked first, and so are the rows of what the logits are computed from, as far back as each row is
computed alone. Most labels of masked-token training are ignored: its last layers, which are as wide
as the vocabulary, then compute a fraction of what they did.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from workbench.onnx_io.nodes import sort_nodes

if TYPE_CHECKING:
    import onnx

_PASSING = {"Where", "Unsqueeze", "Squeeze", "GatherElements", "Neg", "Not", "Cast"}
"""What lies between the log softmax or the comparison of labels, and the sums over all rows."""

_ALONE = {"Tanh", "Gelu", "Relu", "Sigmoid", "Erf", "Identity"}
"""Compute each number of their input alone."""


_END = 2**63 - 1
"""Where a slice ends that takes all the rest."""


class _Graph:
    """A graph with who makes and who reads each value."""

    def __init__(self, model: onnx.ModelProto) -> None:
        import onnx

        self.graph = graph = model.graph
        self.made: dict[str, onnx.NodeProto] = {}
        self.readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in graph.node:
            self.made.update((name, node) for name in node.output)
            for name in node.input:
                self.readers[name].append(node)
        self.results = {value.name for value in graph.output}
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}
        self._types = {
            value.name: value.type.tensor_type
            for value in (*onnx.shape_inference.infer_shapes(model).graph.value_info, *graph.input)
        }

    def shape(self, name: str) -> list[int | str] | None:
        """Sizes, or names of sizes; None where the rank is not known."""
        if name in self.initializers:
            return list(self.initializers[name].dims)
        tensor = self._types.get(name)
        if tensor is None or not tensor.HasField("shape"):
            return None
        return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]

    def rank(self, name: str) -> int | None:
        shape = self.shape(name)
        return None if shape is None else len(shape)


def leave_out_ignored_labels(model: onnx.ModelProto) -> int:
    """Rewrite every such loss of `model`, in place.

    A loss is left as it is if its logits are a result of the model, or read by anything else:
    they are needed in full.

    Args:
        model: a forward pass.

    Returns:
        How many losses were rewritten.
    """
    rewritten = 0
    for softmax in [node for node in model.graph.node if node.op_type == "LogSoftmax"]:
        found = _Graph(model)
        labels = _ignored_labels(found, softmax)
        if labels is not None and _pick_rows(found, softmax, *labels):
            rewritten += 1
    if rewritten:
        sort_nodes(model.graph, "The graph with its loss")
    return rewritten


def _ignored_labels(
    found: _Graph, softmax: onnx.NodeProto
) -> tuple[str, str, list[onnx.NodeProto]] | None:
    """The labels of a loss, the value that it ignores, and the nodes that read the labels.

    None where this is no such loss.
    """
    if found.rank(softmax.input[0]) != 2 or _integer(softmax, "axis", -1) not in (1, -1):
        return None
    node: onnx.NodeProto | None = _only_reader(found, softmax.output[0])
    masked = None
    # From the choice of each row's number back to the labels: GatherElements, Unsqueeze, Where.
    for op_type, place in (("GatherElements", 1), ("Unsqueeze", 0), ("Where", 0)):
        if node is None or node.op_type != op_type:
            return None
        masked, node = node, found.made.get(node.input[place])
    if masked is None or node is None or node.op_type != "Equal":
        return None
    labels, ignored = node.input
    same = [
        reader
        for reader in found.readers[labels]
        if reader.op_type == "Equal" and list(reader.input) == [labels, ignored]
    ]
    fitting = masked.input[2] == labels and found.rank(labels) == 1 and found.rank(ignored) == 0
    if not fitting or not _ends_in_sums(found, [softmax, *same], {e.output[0] for e in same}):
        return None
    return labels, ignored, [*same, masked]


def _ends_in_sums(found: _Graph, nodes: list[onnx.NodeProto], equal: set[str]) -> bool:
    """Whether all that is computed of `nodes` ends in sums over rows that are 0 where ignored."""
    pending, seen = list(nodes), set[str]()
    while pending:
        node = pending.pop()
        for name in node.output:
            if name in seen:
                continue
            seen.add(name)
            if name in found.results:
                return False
            for reader in found.readers[name]:
                if reader.op_type == "ReduceSum":
                    if len(reader.input) > 1 or not _zero_where_ignored(found, name, equal):
                        return False
                elif reader.op_type in _PASSING:
                    pending.append(reader)
                else:
                    return False
    return True


def _zero_where_ignored(found: _Graph, name: str, equal: set[str]) -> bool:
    node = found.made[name]
    if node.op_type == "Cast":
        inverted = found.made.get(node.input[0])
        return inverted is not None and inverted.op_type == "Not" and inverted.input[0] in equal
    if node.op_type != "Where" or node.input[0] not in equal:
        return False
    from onnx import numpy_helper

    zero = found.initializers.get(node.input[1])
    return zero is not None and not numpy_helper.to_array(zero).any()


def _pick_rows(
    found: _Graph, softmax: onnx.NodeProto, labels: str, ignored: str, readers: list[onnx.NodeProto]
) -> bool:
    """Let the loss read the labels that count, and the rows that belong to them."""
    import numpy as np
    from onnx import helper, numpy_helper

    chain = _computed_by_row(found, softmax.input[0])
    if not any(node.op_type in ("MatMul", "Gemm") for node, _ in chain):
        return False
    first, place = chain[-1]
    base = first.input[place]
    shape = found.shape(base)
    assert shape is not None
    name = f"{softmax.output[0]}.labelled"

    def value(suffix: str, array: object) -> str:
        found.graph.initializer.append(numpy_helper.from_array(np.array(array), f"{name}.{suffix}"))
        return f"{name}.{suffix}"

    def node(op_type: str, inputs: list[str], suffix: str, **attributes: Any) -> str:
        output = f"{name}.{suffix}"
        found.graph.node.append(helper.make_node(op_type, inputs, [output], output, **attributes))
        return output

    left_out = node("Equal", [labels, ignored], "ignored")
    counts = node("Not", [left_out], "counts")
    # The first row stays in any case, counted or not: kernels cannot sum over no rows at all.
    others = node("Slice", [counts, value("second", [1]), value("end", [_END])], "others")
    kept = node("Concat", [value("first", [True]), others], "kept", axis=0)
    places = node("NonZero", [kept], "places")
    rows = node("Squeeze", [places, value("axis", [0])], "rows")
    picked_labels = node("Gather", [labels, rows], "labels", axis=0)
    if len(shape) > 2:
        base = node("Reshape", [base, value("shape", [-1, shape[-1]])], "all")
    now = node("Gather", [base, rows], "picked", axis=0)
    for each, place in reversed(chain):
        if each.op_type == "Reshape":
            continue
        each.input[place] = now
        now = each.output[0]
        for attribute in each.attribute:
            if attribute.name == "axis":
                attribute.i = -1
    softmax.input[0] = now
    for reader in readers:
        reader.input[list(reader.input).index(labels)] = picked_labels
    _forget_shapes(found, [each for each, _ in chain] + readers)
    for each, _ in chain:
        if each.op_type == "Reshape":
            found.graph.node.remove(each)
            if len(found.readers[each.input[1]]) == 1 and each.input[1] in found.initializers:
                found.graph.initializer.remove(found.initializers[each.input[1]])
    return True


def _computed_by_row(found: _Graph, value: str) -> list[tuple[onnx.NodeProto, int]]:
    """The nodes, from the last to the first, that lead to `value` and compute each row alone.

    Each with the place of the input that has the rows. Nothing else reads what they compute.
    """
    chain: list[tuple[onnx.NodeProto, int]] = []
    while _only_reader(found, value) is not None and value in found.made:
        node = found.made[value]
        place = _row_input(found, node)
        if place is None:
            break
        chain.append((node, place))
        value = node.input[place]
    # Rows are found again by their width.
    while chain and not isinstance(
        (found.shape(chain[-1][0].input[chain[-1][1]]) or [""])[-1], int
    ):
        chain.pop()
    return chain


def _row_input(found: _Graph, node: onnx.NodeProto) -> int | None:
    """The place of the input that has rows, if `node` computes each of them alone."""
    first = found.shape(node.input[0])
    if first is None or any(name for name in node.output[1:] if found.readers[name]):
        return None
    rank = len(first)
    if node.op_type in ("Add", "Mul", "Sub", "Div"):
        ranks = [found.rank(name) for name in node.input]
        for place in (0, 1):
            rows, other = ranks[place], ranks[1 - place]
            if rows is not None and rows > 1 and other is not None and other < 2:
                return place
        return None
    if node.op_type == "Reshape":
        made = found.shape(node.output[0])
        kept = made is not None and len(made) == 2 and isinstance(made[1], int)
        return 0 if kept and made is not None and rank > 1 and made[1] == first[-1] else None
    if node.op_type == "MatMul":
        alone = found.rank(node.input[1]) == 2
    elif node.op_type == "Gemm":
        alone = _integer(node, "transA") == 0 and all(
            found.rank(name) == 1 for name in node.input[2:]
        )
    elif node.op_type == "LayerNormalization":
        alone = _integer(node, "axis", -1) in (-1, rank - 1)
    else:
        alone = node.op_type in _ALONE
    return 0 if alone and rank > 1 else None


def _forget_shapes(found: _Graph, nodes: list[onnx.NodeProto]) -> None:
    """Drop the shapes of what is computed of `nodes`: it has fewer rows now."""
    pending, fewer = list(nodes), set[str]()
    while pending:
        for name in pending.pop().output:
            if name not in fewer:
                fewer.add(name)
                pending += found.readers[name]
    kept = [value for value in found.graph.value_info if value.name not in fewer]
    del found.graph.value_info[:]
    found.graph.value_info.extend(kept)


def _only_reader(found: _Graph, name: str) -> onnx.NodeProto | None:
    """What reads a value, if nothing else does and it is no result."""
    readers = found.readers[name]
    return readers[0] if len(readers) == 1 and name not in found.results else None


def _integer(node: onnx.NodeProto, name: str, default: int = 0) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)
