"""Draws a graph as an SVG file, without a browser."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from pathlib import Path

from workbench.errors import ModelError
from workbench.files.output_file import replacing_file
from workbench.graph_view.description import ROOT, GraphDescription
from workbench.graph_view.formats.layered_layout import LayeredLayout, Size, layered

COLOURS = {
    "export": ("#ffffff", "#8a8f98", ""),
    "loss": ("#fff1f2", "#be123c", "L"),
    "rewrite": ("#fef6dc", "#96600a", "R"),
    "fusion": ("#f3eefe", "#6d28d9", "F"),
    "gradient": ("#e8f1fd", "#1d5fbf", "G"),
    "update": ("#e3f6f2", "#0f766e", "U"),
    "lora": ("#fdeef8", "#a21caf", "A"),
}
"""Fill, border and letter by what made a node, as in the view."""

_HEAD = 28.0
_PADDING = 14.0
_CHARACTER = 6.6
_LONGEST = 28
"""Characters of a text; longer ones are cut."""


def write_svg(shown: GraphDescription, opened: Collection[str], path: Path) -> Path:
    """Write a graph with the groups open whose paths are in `opened`.

    Raises:
        ModelError: it cannot be written; an existing file is kept.
    """
    text = svg_text(shown, opened)
    with replacing_file(path, ModelError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def svg_text(shown: GraphDescription, opened: Collection[str]) -> str:
    """The SVG file."""
    return _Drawing(shown, set(opened)).text()


class _Drawing:
    """Items are positions of nodes, and groups by minus their position."""

    def __init__(self, shown: GraphDescription, opened: set[str]) -> None:
        self._shown = shown
        self._open = {
            position
            for position, group in enumerate(shown.groups)
            if position == ROOT or group.path in opened
        }
        self._children: list[list[int]] = [[] for _ in shown.groups]
        self._counts = [0] * len(shown.groups)
        self._sort_children()
        self._layouts: dict[int, LayeredLayout] = {}
        self._parts: list[str] = []

    def text(self) -> str:
        edges = self._edges()
        for group in range(len(self._shown.groups) - 1, -1, -1):
            if group in self._open:
                self._arrange(group, edges.get(group, []))
        self._draw(ROOT, 0.0, 0.0, edges)
        width, height = self._layouts[ROOT].size
        title = _escaped(self._shown.title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 -16 {width + 32:.0f} '
            f'{height + 32:.0f}" width="{width + 32:.0f}" height="{height + 32:.0f}" role="img" '
            f'font-family="system-ui, sans-serif"><title>{title}</title>'
            f'<rect x="-16" y="-16" width="100%" height="100%" fill="#ffffff"/>'
            f"{''.join(self._parts)}</svg>\n"
        )

    def _sort_children(self) -> None:
        shown = self._shown
        placed = {ROOT}

        def place(group: int) -> None:
            if group not in placed:
                placed.add(group)
                place(shown.groups[group].parent)
                self._children[shown.groups[group].parent].append(-group)

        order = sorted(range(len(shown.nodes)), key=lambda i: shown.nodes[i].kind != "input")
        for index in order:
            place(shown.nodes[index].group)
            self._children[shown.nodes[index].group].append(index)
            self._counts[shown.nodes[index].group] += 1
        for group in range(len(shown.groups) - 1, 0, -1):
            self._counts[shown.groups[group].parent] += self._counts[group]

    def _around(self, index: int) -> list[int]:
        """The node, then the groups around it from the inside, as items."""
        found, group = [index], self._shown.nodes[index].group
        while group != ROOT:
            found.append(-group)
            group = self._shown.groups[group].parent
        return found

    def _edges(self) -> dict[int, list[tuple[int, int]]]:
        """For each group the edges between its children."""
        shown = self._shown
        makers = {value: i for i, node in enumerate(shown.nodes) for value in node.outputs}
        found: dict[int, dict[tuple[int, int], None]] = {}
        for index, node in enumerate(shown.nodes):
            for value in node.inputs:
                maker = makers.get(value) if value >= 0 else None
                if maker is None:
                    continue
                first, second = self._around(maker)[::-1], self._around(index)[::-1]
                depth = 0
                while first[depth : depth + 1] == second[depth : depth + 1] and depth < len(first):
                    depth += 1
                if depth < min(len(first), len(second)):
                    group = -first[depth - 1] if depth else ROOT
                    found.setdefault(group, {})[(first[depth], second[depth])] = None
        return {group: list(pairs) for group, pairs in found.items()}

    def _texts(self, item: int) -> tuple[str, str]:
        if item < 0:
            count = self._counts[-item]
            return _cut(self._shown.groups[-item].label), f"{count:,} node{'s'[: count != 1]}"
        node = self._shown.nodes[item]
        if node.kind != "operator":
            return _cut(node.name), node.op.lower()
        return _cut(node.op.rpartition("::")[2]), _cut(node.layer.rpartition(".")[2] or node.name)

    def _size(self, item: int) -> Size:
        if item < 0 and -item in self._open:
            inner = self._layouts[-item].size
            label = len(self._shown.groups[-item].label) * _CHARACTER + 100
            return Size(max(inner.width, label) + 2 * _PADDING, inner.height + _HEAD + 2 * _PADDING)
        return Size(max(90.0, max(map(len, self._texts(item))) * _CHARACTER + 34), 42.0)

    def _arrange(self, group: int, edges: list[tuple[int, int]]) -> None:
        children = self._children[group]
        place = {item: index for index, item in enumerate(children)}
        pairs = [(place[a], place[b]) for a, b in edges]
        self._layouts[group] = layered([self._size(item) for item in children], pairs)

    def _draw(
        self, group: int, x: float, y: float, edges: dict[int, list[tuple[int, int]]]
    ) -> None:
        layout = self._layouts[group]
        boxes = {}
        for item, (left, top) in zip(self._children[group], layout.places, strict=True):
            size = self._size(item)
            boxes[item] = (x + left, y + top, size)
            if item < 0 and -item in self._open:
                self._box(x + left, y + top, size, "#f3f3f3", "#bdbdbd")
                label = f"{self._shown.groups[-item].label}"
                self._text(x + left + 12, y + top + 18, label, 12, "#1a1a1a", bold=True)
                inner = self._layouts[-item].size
                corner = x + left + (size.width - inner.width) / 2
                self._draw(-item, corner, y + top + _HEAD + _PADDING, edges)
        for first, second in edges.get(group, []):
            self._line(boxes[first], boxes[second])
        for item, (left, top, size) in boxes.items():
            if item >= 0 or -item not in self._open:
                self._item(item, left, top, size)

    def _item(self, item: int, x: float, y: float, size: Size) -> None:
        made_by = self._shown.nodes[item].made_by if item >= 0 else "export"
        fill, stroke, letter = COLOURS[made_by]
        self._box(x, y, size, fill, stroke)
        first, second = self._texts(item)
        self._text(x + 10, y + 18, f"▸ {first}" if item < 0 else first, 12, "#1a1a1a", bold=True)
        self._text(x + 10, y + 34, second, 10.5, "#616161")
        if letter:
            self._text(x + size.width - 14, y + 15, letter, 10, stroke, bold=True)

    def _box(self, x: float, y: float, size: Size, fill: str, stroke: str) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
            f'rx="5" fill="{fill}" stroke="{stroke}"/>'
        )

    def _text(
        self, x: float, y: float, text: str, size: float, colour: str, *, bold: bool = False
    ) -> None:
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" '
            f'font-weight="{600 if bold else 400}">{_escaped(text)}</text>'
        )

    def _line(self, source: tuple[float, float, Size], target: tuple[float, float, Size]) -> None:
        x0, y0 = source[0] + source[2].width / 2, source[1] + source[2].height
        x1, y1 = target[0] + target[2].width / 2, target[1]
        bend = max(10.0, abs(y1 - y0) / 2)
        self._parts.append(
            f'<path d="M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} '
            f'{x1:.1f} {y1:.1f}" fill="none" stroke="#8a8f98"/>'
        )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold, not even escaped."""


def _escaped(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
