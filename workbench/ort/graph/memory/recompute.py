"""Recomputes results of cheap operators in the backward pass instead of keeping them.

A kept result occupies memory from the forward pass until its last reader in the backward pass.
That of a GELU or a normalization is computed from an input that is kept anyway, for the operator's
own gradient, and in far less time than the matrix product that it feeds; so is its transpose, and
what Dropout leaves of it, whose mask is kept. The same kernel computes the same bits.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.onnx_io.nodes import attribute
from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.identifiers import GRADIENT, INT64, MICROSOFT
from workbench.ort.graph.node_statistics import forward_nodes

if TYPE_CHECKING:
    import onnx

CHEAP = frozenset(
    {
        *("BiasGelu", "BiasSilu", "BiasTanhGelu", "FastGelu", "GatedSilu", "Gelu"),
        *("LayerNormalization", "RMSNormalization", "Silu", "TanhGelu"),
    }
)
"""Operators whose first result has the shape of their first input."""


def recompute_in_backward(model: onnx.ModelProto, *results: str) -> dict[str, str]:
    """Make the backward pass recompute results of `CHEAP` operators, in place.

    The repeated node depends on the gradient of its result, by its shape: otherwise ONNX Runtime
    might run it in the forward pass.

    Args:
        model: both passes, in order.
        results: the outputs that are differentiated, where no YieldOp takes them.

    Returns:
        First output of each new node -> an output of the node of the backward pass that reads it.
    """
    graph, outputs = model.graph, output_specs(model)
    forward = forward_nodes(graph, results)
    backward = {i: node for i, node in enumerate(graph.node) if i not in forward}
    places = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    readers: dict[str, list[int]] = {}
    for i, node in backward.items():
        for name in dict.fromkeys(filter(None, node.input)):
            readers.setdefault(name, []).append(i)
    again: list[onnx.NodeProto] = []
    made: dict[str, str] = {}
    dropped: set[str] = set()
    """Values that are no longer kept for the backward pass."""
    for i in sorted(forward):
        last = graph.node[i]
        node, value = _cheap(graph, places, last), last.output[0]
        gradient = places.get(value + GRADIENT)
        if node is None or gradient not in backward or value not in readers:
            continue
        source = node.input[0]
        kept = source in readers and source not in dropped and source in places
        if last.op_type == "Dropout":
            kept = kept and last.output[1] in readers
        if not kept or _leads_to(graph, backward, places, value, gradient):
            continue
        nodes = _repeated(node, last, value + GRADIENT)
        again += nodes
        for reader in readers[value]:
            _rename(graph.node[reader], value, nodes[-1].output[0])
        reader = graph.node[readers[value][0]]
        made |= {each.output[0]: reader.output[0] for each in nodes}
        dropped.add(value)
    if again:
        in_order = [_copy(node) for node in _sorted([*graph.node, *again])]
        del graph.node[:]
        graph.node.extend(in_order)
        check_rewrite(model, "results computed again", outputs)
    return made


def _sorted(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """In topological order, otherwise unchanged."""
    places = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needed = [{places[name] for name in node.input if name in places} for node in nodes]
    readers = defaultdict[int, list[int]](list)
    for i, before in enumerate(needed):
        for each in before:
            readers[each].append(i)
    waits_for = [len(before) for before in needed]
    ready = [i for i, count in enumerate(waits_for) if not count]
    found = []
    while ready:
        index = heapq.heappop(ready)
        found.append(nodes[index])
        for reader in readers[index]:
            waits_for[reader] -= 1
            if not waits_for[reader]:
                heapq.heappush(ready, reader)
    return found


def _leads_to(
    graph: onnx.GraphProto,
    backward: Mapping[int, onnx.NodeProto],
    places: Mapping[str, int],
    value: str,
    target: int,
) -> bool:
    """Whether a node of the backward pass that reads `value` comes before node `target`."""
    seen: set[int] = set()
    waiting = [target]
    while waiting:
        index = waiting.pop()
        if index in seen or index not in backward:
            continue
        seen.add(index)
        names: Collection[str] = graph.node[index].input
        if value in names:
            return True
        waiting += [places[name] for name in names if name in places]
    return False


def _cheap(
    graph: onnx.GraphProto, places: Mapping[str, int], last: onnx.NodeProto
) -> onnx.NodeProto | None:
    """The node of `CHEAP` that gives the result of `last`, alone or before a transpose or Dropout.

    None where there is none, or that gives another shape than `last` keeps.
    """
    if last.op_type in CHEAP:
        return last
    complete = len(last.output) == 2 and len(last.input) == 3
    follows = last.op_type == "Transpose" or (last.op_type == "Dropout" and complete)
    if last.domain or not follows or last.input[0] not in places:
        return None
    node = graph.node[places[last.input[0]]]
    return node if node.op_type in CHEAP and node.output[0] == last.input[0] else None


def _repeated(node: onnx.NodeProto, last: onnx.NodeProto, gradient: str) -> list[onnx.NodeProto]:
    """Nodes that compute the results of `node`, and then of `last`, again.

    Args:
        node: one of `CHEAP`.
        last: the same, or what follows it.
        gradient: that of the result of `last`; they wait for it.
    """
    from onnx import helper

    value = last.output[0]
    shape, source = f"{value}.shape_again", f"{value}.source_again"
    made = [helper.make_node("Shape", [gradient], [shape], shape)]
    if last.op_type == "Transpose":
        turned, shape = shape, f"{value}.sizes_again"
        rank = len(attribute(last, "perm", ()))
        order, axes = f"{value}.order_again", np.argsort(attribute(last, "perm", ()))
        constant = helper.make_tensor(order, INT64, [rank], axes.tolist())
        made.append(helper.make_node("Constant", [], [order], order, value=constant))
        made.append(helper.make_node("Gather", [turned, order], [shape], shape))
    made.append(helper.make_node("Reshape", [node.input[0], shape], [source], source))
    again = _again(node, source, "" if node is last else f"{value}.")
    made.append(again)
    if last.op_type == "Transpose":
        made.append(_again(last, again.output[0]))
    elif last.op_type == "Dropout":
        # It scales what the mask keeps as Dropout does.
        inputs = [again.output[0], last.output[1], *last.input[1:]]
        name = f"{value}.again"
        made.append(helper.make_node("DropoutGrad", inputs, [name], name, domain=MICROSOFT))
    return made


def _again(node: onnx.NodeProto, source: str, prefix: str = "") -> onnx.NodeProto:
    """The same node of `source`, its outputs with a prefix."""
    copy = _copy(node)
    copy.name = f"{prefix}{node.name or node.output[0]}.again"
    copy.input[0] = source
    names = [f"{prefix}{name}.again" if name else "" for name in node.output]
    del copy.output[:]
    copy.output.extend(names)
    return copy


def _rename(node: onnx.NodeProto, old: str, new: str) -> None:
    for place, name in enumerate(node.input):
        if name == old:
            node.input[place] = new


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    import onnx

    made = onnx.NodeProto()
    made.CopyFrom(node)
    return made
