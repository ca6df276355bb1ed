"""Records which nodes a rewrite created, and from which nodes of the given graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import onnx_ir as ir


class Replacement(NamedTuple):
    """One node of the rewritten graph that a rewrite made or changed.

    Nodes are named by their first output: a graph has every value once, while several nodes may
    have one name or none.
    """

    node: str
    """First output of the node in the rewritten graph."""
    origins: tuple[str, ...]
    """First outputs of the nodes of the given graph that it replaces, in their order."""
    note: str
    """Description of the rewrite."""


class NodeHistory:
    """Tracks every node of a graph through the rewrites, by identity and not by name."""

    def __init__(self, graph: ir.Graph) -> None:
        """Record the nodes before any rewrite."""
        self._graph = graph
        self._origins: dict[ir.Node, tuple[str, ...]] = {
            node: (first_output(node),) for node in graph
        }
        self._notes: dict[ir.Node, tuple[str, ...]] = {}

    def record(self, group: Sequence[ir.Node], note: str) -> None:
        """Record that a rewrite was applied to `group`, whose nodes were removed or changed."""
        given = [name for node in group for name in self._origins.get(node, ())]
        origins = tuple(dict.fromkeys(given))
        notes = [old for node in group for old in self._notes.get(node, ())]
        made = [node for node in self._graph if node not in self._origins]
        for node in (*made, *(node for node in group if node.graph is self._graph)):
            self._origins[node] = origins
            self._notes[node] = tuple(dict.fromkeys((*notes, note)))

    def replacements(self) -> tuple[Replacement, ...]:
        """Replacements of every node that a rewrite made or changed, in the order of the graph."""
        return tuple(
            Replacement(first_output(node), self._origins[node], "; ".join(self._notes[node]))
            for node in self._graph
            if node in self._notes
        )


def first_output(node: ir.Node) -> str:
    """Name of the first output that has one; empty if none has."""
    return next((str(value.name) for value in node.outputs if value.name), "")
