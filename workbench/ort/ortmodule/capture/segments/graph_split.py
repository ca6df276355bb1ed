"""Splits a forward graph into segments between calls of custom autograd functions, or cuts.

The level of a node is the number of calls on the longest way to it from the inputs, or that of the
cuts before it. A segment has the nodes of one level; the calls of that level come after it and
before the next segment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import UntrainableError
from workbench.export.autograd.autograd_functions import DOMAIN, NUMBER, OP
from workbench.onnx_io.graph_metadata import UPDATES
from workbench.onnx_io.rewrite_check import check_rewrite, output_spec

if TYPE_CHECKING:
    import onnx


class Segment(NamedTuple):
    """Nodes of one level, as a separate graph."""

    model: onnx.ModelProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    """Values of it that the calls, the later segments and the caller need."""


class Call(NamedTuple):
    """One call of a function."""

    number: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Level(NamedTuple):
    """A segment, and the calls that follow it."""

    segment: Segment | None
    calls: tuple[Call, ...]


def has_calls(model: onnx.ModelProto) -> bool:
    """Whether `model` calls any custom autograd function."""
    return any(map(_is_call, model.graph.node))


def split(model: onnx.ModelProto, cuts: Sequence[int] = ()) -> list[Level]:
    """The levels of `model`, in the order in which they run.

    Values keep their names. Every value is computed once. Values that depend on parameters and
    constants alone are computed where they are first needed, so that they need not be passed on.

    Args:
        model: a forward pass whose parameters and buffers are initializers.
        cuts: places of nodes before which a segment ends, in their order.

    Raises:
        UntrainableError: the type of a value passed between segments is not known.
    """
    import onnx

    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    graph = model.graph
    held = {tensor.name for tensor in graph.initializer}
    levels = _levels(graph, held, cuts)
    known = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}
    needed = _levels_that_need(graph, levels)

    members: dict[int, list[onnx.NodeProto]] = defaultdict(list)
    calls: dict[int, list[Call]] = defaultdict(list)
    for node, level in zip(graph.node, levels, strict=True):
        if _is_call(node):
            calls[level].append(Call(_number(node), tuple(node.input), tuple(node.output)))
        else:
            members[level].append(node)
    found = []
    for level in range(max(levels, default=0) + 1):
        nodes = members[level]
        made = {name for node in nodes for name in node.output if name}
        outputs = [
            name for node in nodes for name in node.output if name and needed[name] - {level}
        ]
        # A call of this level comes after the segment, and so does the caller.
        outputs = list(dict.fromkeys([*outputs, *_taken(calls[level], made)]))
        segment = _segment(model, nodes, outputs, known, held) if nodes else None
        found.append(Level(segment, tuple(calls[level])))
    return found


_CALLER = -1
"""Level of the caller, for requested results."""


def _levels(graph: onnx.GraphProto, held: Collection[str], cuts: Sequence[int]) -> list[int]:
    """The level of each node; that of a call is the level that it comes after."""
    of_value: dict[str, int] = {}
    free = set(held)
    levels = []
    for place, node in enumerate(graph.node):
        read = list(read_by(node))
        level = max([of_value.get(name, 0) for name in read], default=0)
        level = max(level, bisect_right(cuts, place))
        levels.append(level)
        if not _is_call(node) and all(name in free for name in read):
            free.update(node.output)
        of_value.update((name, level + _is_call(node)) for name in node.output)
    _move_updates_behind_readers(graph, levels)
    needed: dict[str, set[int]] = defaultdict(set)
    for value in graph.output:
        needed[value.name].add(0)
    for place in reversed(range(len(levels))):
        node = graph.node[place]
        users = set().union(*(needed[name] for name in node.output))
        if users and not _is_call(node) and all(name in free for name in read_by(node)):
            levels[place] = min(users)
        for name in read_by(node):
            needed[name].add(levels[place])
    return levels


def _move_updates_behind_readers(graph: onnx.GraphProto, levels: list[int]) -> None:
    """Move updates of a buffer after all readers of its old value."""
    last: dict[str, int] = defaultdict(int)
    for node, level in zip(graph.node, levels, strict=True):
        for name in read_by(node):
            last[name] = max(last[name], level + _is_call(node))
    for place, node in enumerate(graph.node):
        buffer = _updated(node)
        if buffer:
            levels[place] = max(levels[place], last[buffer])


def _levels_that_need(graph: onnx.GraphProto, levels: Iterable[int]) -> dict[str, set[int]]:
    """For each value the levels of the nodes that read it, with `_CALLER` for a result."""
    needed: dict[str, set[int]] = defaultdict(set)
    for node, level in zip(graph.node, levels, strict=True):
        for name in read_by(node):
            needed[name].add(level)
    for value in graph.output:
        needed[value.name].add(_CALLER)
    return needed


def _segment(
    model: onnx.ModelProto,
    nodes: list[onnx.NodeProto],
    outputs: list[str],
    known: dict[str, onnx.ValueInfoProto],
    held: Collection[str],
) -> Segment:
    import onnx

    made = {name for node in nodes for name in node.output}
    read = list(dict.fromkeys(name for node in nodes for name in read_by(node)))
    inputs = [name for name in read if name not in held and name not in made]
    used = {*read, *map(_updated, nodes)}
    for name in (*inputs, *outputs):
        if name not in known or not known[name].type.tensor_type.elem_type:
            raise UntrainableError(
                f"ORTModule does not know the type of the value {name!r}, which goes from one side "
                "of a custom autograd function to the other."
            )
    segment = onnx.ModelProto()
    segment.CopyFrom(model)
    graph = segment.graph
    for field in ("node", "input", "output", "value_info", "initializer"):
        graph.ClearField(field)
    graph.node.extend(nodes)
    graph.input.extend(known[name] for name in inputs)
    graph.output.extend(known[name] for name in outputs)
    inner = [name for name in made if name in known and name not in outputs]
    graph.value_info.extend(known[name] for name in inner)
    graph.initializer.extend(each for each in model.graph.initializer if each.name in used)
    for opset in [opset for opset in segment.opset_import if opset.domain == DOMAIN]:
        segment.opset_import.remove(opset)
    check_rewrite(segment, "segment of a graph", [output_spec(known[name]) for name in outputs])
    return Segment(segment, tuple(inputs), tuple(outputs))


def _taken(calls: Iterable[Call], made: Collection[str]) -> list[str]:
    return [name for call in calls for name in call.inputs if name in made]


def read_by(node: onnx.NodeProto) -> Iterator[str]:
    """Values that the node reads, and outer values that its subgraphs read."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            own = {value.name for value in (*graph.input, *graph.initializer)}
            own |= {name for inner in graph.node for name in inner.output}
            read = [name for inner in graph.node for name in read_by(inner)]
            read += [value.name for value in graph.output]
            yield from (name for name in read if name not in own)


def _is_call(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type == OP


def _number(node: onnx.NodeProto) -> int:
    return next(int(each.i) for each in node.attribute if each.name == NUMBER)


def _updated(node: onnx.NodeProto) -> str:
    """The buffer that the node updates; empty for every other node."""
    return next((each.value for each in node.metadata_props if each.key == UPDATES), "")
