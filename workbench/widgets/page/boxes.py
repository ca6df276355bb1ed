"""Boxes of a page, laid out by the style sheet."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets


def area(name: str, children: Sequence[ipywidgets.DOMWidget]) -> ipywidgets.Box:
    """A part of the page, with a class for the style sheet."""
    box = ipywidgets.Box(children=list(children))
    for each in name.split():
        box.add_class(each)
    return box
