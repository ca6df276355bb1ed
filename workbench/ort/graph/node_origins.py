"""The origins of the nodes of a training graph, recorded while it is built.

ONNX Runtime drops the metadata of nodes, so the nodes created by each stage are found by comparing
the graph before with the graph after. Nodes are identified by their outputs: one node computes a
value, which keeps its name for as long as it is in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import onnx

MadeBy = Literal["given", "fusion", "gradient", "update"]

_GRADIENT = "_Grad/"
"""Separator in names by ONNX Runtime's gradient builder, after the name of the differentiated
node."""


class NodeOrigin(NamedTuple):
    """Origin of one node of a training graph."""

    made_by: MadeBy
    """"given": it is a node of the given graph. "fusion": ONNX Runtime replaced `sources`
    by it. "gradient": it belongs to the gradient of `sources`. "update": it writes a gradient
    or a buffer where the next step finds it."""
    sources: tuple[str, ...]
    """First outputs of the nodes of the given graph that it replaces."""
    updated: str = ""
    """For an update: its parameter or buffer."""
    own_gradient: bool = False
    """Whether it belongs to a gradient of the workbench, not of ONNX Runtime."""
    rewrite: str = ""
    """How a node of the given graph was rewritten once the gradient was built; empty: it was not.
    """


class NodeOrigins:
    """Compares the given graph, the optimized one, and that with the gradient."""

    def __init__(
        self, given: onnx.GraphProto, optimized: onnx.GraphProto, built: onnx.GraphProto
    ) -> None:
        self._named = {node.name: node for node in given.node}
        made = _sources(given, optimized)
        optimized_by_name = {node.name: node for node in optimized.node if node.name}
        before = _makers(optimized)
        self._found: dict[str, NodeOrigin] = {}
        for node in built.node:
            old = next((before[name] for name in node.output if name in before), None)
            if old is not None:
                kept = _alike(node, old)
                origin = made[_key(old)]
                self._note(node, origin if kept else NodeOrigin("fusion", origin.sources))
                continue
            differentiated = _differentiated(node.name, optimized_by_name)
            if differentiated is not None:
                self._note(node, NodeOrigin("gradient", made[_key(differentiated)].sources))
        self._built = {name for node in built.node for name in node.output if name}

    def of(
        self,
        graph: onnx.GraphProto,
        expanded: Mapping[str, str],
        updates: Mapping[str, str],
        replaced: Mapping[str, str],
        rewrites: Mapping[str, str],
    ) -> tuple[NodeOrigin, ...]:
        """Origin of each node of `graph`, in its order.

        Args:
            graph: the one with the gradient, after the hidden nodes were restored and the updates
                appended.
            expanded: see `HiddenNodes.expanded`.
            updates: output of an update -> its parameter or buffer.
            replaced: see `write_standard_gradients`.
            rewrites: first output of a new node of the forward pass -> how it was rewritten.
        """
        for name, updated in updates.items():
            self._found[name] = NodeOrigin("update", (), updated)
        for node in graph.node:
            key = _key(node)
            own = expanded.get(replaced.get(key, key))
            if own is not None:
                source = _key(self._named[own])
                self._note(node, NodeOrigin("gradient", (source,), own_gradient=True))
        for name, whole in replaced.items():
            if whole in self._found:
                self._found[name] = self._found[whole]._replace(rewrite=rewrites.get(name, ""))
        readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        # A sum of gradients belongs to the node whose gradient reads it.
        for node in reversed(graph.node):
            if _key(node) not in self._found and _key(node) in self._built:
                reading = [each for name in node.output for each in readers.get(name, ())]
                found = (self._found.get(_key(each)) for each in reading)
                origins = [one for one in found if one is not None and one.made_by == "gradient"]
                sources = tuple(dict.fromkeys(s for one in origins for s in one.sources))
                self._note(node, NodeOrigin("gradient", sources))
        unknown = NodeOrigin("gradient", ())
        return tuple(self._found.get(_key(node), unknown) for node in graph.node)

    def _note(self, node: onnx.NodeProto, origin: NodeOrigin) -> None:
        for name in node.output:
            if name:
                self._found[name] = origin


def _sources(given: onnx.GraphProto, optimized: onnx.GraphProto) -> dict[str, NodeOrigin]:
    """Origin of each node of the optimized graph, by its first output.

    Connected new nodes replaced the removed nodes between their inputs and outputs.
    """
    before = _makers(given)
    found: dict[str, NodeOrigin] = {}
    new: list[onnx.NodeProto] = []
    for node in optimized.node:
        old = before.get(_key(node))
        if old is not None and _alike(node, old):
            found[_key(node)] = NodeOrigin("given", (_key(old),))
        else:
            new.append(node)
    gone = {_key(node) for node in given.node if _key(node) not in found}
    for group in _together(new):
        inside = {name for node in group for name in node.output}
        entries = {name for node in group for name in node.input} - inside
        exits = [name for name in inside if name in before]
        sources = _between(before, exits, entries, gone)
        for node in group:
            found[_key(node)] = NodeOrigin("fusion", sources)
    return found


def _between(
    makers: Mapping[str, onnx.NodeProto],
    exits: Iterable[str],
    entries: set[str],
    gone: set[str],
) -> tuple[str, ...]:
    """First outputs of the nodes of `gone` between the values."""
    found: dict[str, None] = {}
    waiting = list(exits)
    while waiting:
        node = makers.get(waiting.pop())
        if node is None or _key(node) in found or _key(node) not in gone:
            continue
        found[_key(node)] = None
        waiting += [name for name in node.input if name and name not in entries]
    return tuple(reversed(found))


def _together(nodes: list[onnx.NodeProto]) -> list[list[onnx.NodeProto]]:
    """The nodes in connected groups."""
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    leaders = list(range(len(nodes)))

    def leader(index: int) -> int:
        while leaders[index] != index:
            leaders[index] = leaders[leaders[index]]
            index = leaders[index]
        return index

    for index, node in enumerate(nodes):
        for name in node.input:
            if name in makers:
                leaders[leader(index)] = leader(makers[name])
    groups: dict[int, list[onnx.NodeProto]] = {}
    for index, node in enumerate(nodes):
        groups.setdefault(leader(index), []).append(node)
    return list(groups.values())


def _differentiated(name: str, nodes: Mapping[str, onnx.NodeProto]) -> onnx.NodeProto | None:
    """The node that the gradient node called `name` differentiates."""
    end = name.rfind(_GRADIENT)
    while end > 0:
        if name[:end] in nodes:
            return nodes[name[:end]]
        end = name.rfind(_GRADIENT, 0, end)
    return None


def _makers(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    return {name: node for node in graph.node for name in node.output if name}


def _alike(node: onnx.NodeProto, other: onnx.NodeProto) -> bool:
    return bool(node.op_type == other.op_type and _domain(node) == _domain(other))


def _domain(node: onnx.NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else str(node.domain)


def _key(node: onnx.NodeProto) -> str:
    """The first output that has a name."""
    return next((str(name) for name in node.output if name), "")
