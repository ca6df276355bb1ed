"""Boxes of a page; the style sheet places what is in them."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets


def area(name: str, children: Sequence[ipywidgets.DOMWidget]) -> ipywidgets.Box:
    """A part of the page, by the class that the style sheet knows it by."""
    box = ipywidgets.Box(children=list(children))
    for each in name.split():
        box.add_class(each)
    return box
