"""Puts nodes into groups of a size that can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.graph_view.description import ROOT, Group
from workbench.graph_view.scopes import Scope

MOST_CHILDREN = 400
"""A group with more nodes and groups in it is divided into parts."""

PART_SIZE = 200
"""Nodes and groups of a part, at most."""


class Grouping(NamedTuple):
    """Groups, and the group of each node."""

    groups: tuple[Group, ...]
    group_of: list[int]


class _Tree:
    """A group under construction. Children are positions of nodes, and groups."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.inner: dict[str, _Tree] = {}
        self.children: list[int | _Tree] = []

    def child(self, label: str) -> _Tree:
        if label not in self.inner:
            self.inner[label] = _Tree(label)
            self.children.append(self.inner[label])
        return self.inner[label]


def grouped(scopes: Sequence[Scope]) -> Grouping:
    """Groups by the scopes of nodes, which are in the order of the graph.

    A group with nothing but one group in it is merged with that; one node needs no group. A group
    with more than `MOST_CHILDREN` nodes and groups is divided into parts.
    """
    root = _Tree("")
    for index, scope in enumerate(scopes):
        place = root
        for label in scope:
            place = place.child(label)
        place.children.append(index)
    groups: list[Group] = []
    group_of = [ROOT] * len(scopes)
    waiting: list[tuple[_Tree, int, str]] = [(root, -1, "")]
    while waiting:
        tree, parent, path = waiting.pop()
        position = len(groups)
        groups.append(Group(path, tree.label, parent))
        for child in reversed(_in_parts(tree)):
            merged = child if isinstance(child, int) else _merged(child)
            if isinstance(merged, int):
                group_of[merged] = position
                continue
            waiting.append((merged, position, f"{path}/{merged.label}" if path else merged.label))
    return Grouping(tuple(groups), group_of)


def _merged(tree: _Tree) -> int | _Tree:
    """`tree`, or the one group in it with both labels, or the one node in it."""
    labels = [tree.label]
    while len(tree.children) == 1 and isinstance(only := tree.children[0], _Tree):
        labels.append(only.label)
        tree = only
    if len(tree.children) == 1:
        return tree.children[0]
    merged = _Tree(".".join(labels))
    merged.children = tree.children
    return merged


def _in_parts(tree: _Tree) -> list[int | _Tree]:
    children = tree.children
    while len(children) > MOST_CHILDREN:
        count = -(-len(children) // PART_SIZE)
        size = -(-len(children) // count)
        parts: list[int | _Tree] = []
        for number in range(count):
            part = _Tree(f"part {number + 1} of {count}")
            part.children = children[number * size : (number + 1) * size]
            parts.append(part)
        children = parts
    return children
