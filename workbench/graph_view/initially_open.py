"""Which groups of a graph are open at first."""

from __future__ import annotations

from workbench.graph_view.description import ROOT, GraphDescription

MOST_SHOWN = 36
"""Nodes and closed groups that are shown at first, at most, unless the root alone has more."""


def initially_open_groups(shown: GraphDescription) -> list[str]:
    """Paths of groups, opened from the outermost inwards for as long as few things are shown."""
    children = [0] * len(shown.groups)
    for node in shown.nodes:
        children[node.group] += 1
    inner: list[list[int]] = [[] for _ in shown.groups]
    for position, group in enumerate(shown.groups):
        if group.parent >= 0:
            children[group.parent] += 1
            inner[group.parent].append(position)
    opened: list[str] = []
    count = children[ROOT]
    level = list(inner[ROOT])
    while level:
        following: list[int] = []
        for position in level:
            # The group is replaced by its children.
            if count - 1 + children[position] <= MOST_SHOWN:
                count += children[position] - 1
                opened.append(shown.groups[position].path)
                following += inner[position]
        level = following
    return opened
