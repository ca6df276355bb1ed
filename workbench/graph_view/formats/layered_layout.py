"""A layered layout: ranks by the longest path, each rank ordered by the boxes above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

GAP = 18.0
RANK_GAP = 26.0

_WIDEST = 12
"""Boxes without edges side by side, at most."""


class Size(NamedTuple):
    """Width and height, in pixels."""

    width: float
    height: float


class LayeredLayout(NamedTuple):
    """Top left corners of boxes, and the size of all together."""

    places: tuple[tuple[float, float], ...]
    size: Size


def layered(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> LayeredLayout:
    """Lay out boxes.

    Args:
        sizes: of the boxes, in the order of the graph.
        edges: pairs of positions; those that go back in this order are ignored by the ranks.
    """
    ahead = sorted((a, b) for a, b in edges if a < b)
    rank = [0] * len(sizes)
    for source, target in ahead:
        rank[target] = max(rank[target], rank[source] + 1)
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for source, target in ahead:
        above[target].append(source)
        below[source].append(target)
    for index in range(len(sizes)):
        if below[index] and not above[index]:
            rank[index] = max(0, min(rank[target] for target in below[index]) - 1)
    linked = {index for pair in edges for index in pair}
    alone = [index for index in range(len(sizes)) if index not in linked]
    rows: dict[int, list[int]] = {}
    for index in range(len(sizes)):
        if index in linked:
            rows.setdefault(rank[index], []).append(index)
    ordered = [rows[each] for each in sorted(rows)]
    ordered += [alone[start : start + _WIDEST] for start in range(0, len(alone), _WIDEST)]
    middle = [0.0] * len(sizes)
    placed: dict[int, tuple[float, float]] = {}
    top = width = 0.0
    for members in ordered:
        row = sorted(members, key=lambda index: _mean([middle[each] for each in above[index]]))
        length = sum(sizes[index].width + GAP for index in row) - GAP
        left = -length / 2
        for index in row:
            placed[index] = (left, top)
            middle[index] = left + sizes[index].width / 2
            left += sizes[index].width + GAP
        width = max(width, length)
        top += max(sizes[index].height for index in row) + RANK_GAP
    places = tuple((placed[index][0] + width / 2, placed[index][1]) for index in range(len(sizes)))
    return LayeredLayout(places, Size(width, max(0.0, top - RANK_GAP)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
