"""Boxes of a page, laid out by the style sheet."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets


class Area(ipywidgets.Box):  # type: ignore[misc]
    """A box whose parts are closed with it.

    ipywidgets raises for the state of an open box with a closed part, and then no widget of the
    kernel is shown again after a reload.
    """

    def close(self) -> None:
        """Close it with all that it contains."""
        super().close()
        for each in self.children:
            each.close()


def area(name: str, children: Sequence[ipywidgets.DOMWidget]) -> Area:
    """A part of the page, with a class for the style sheet."""
    box = Area(children=list(children))
    for each in name.split():
        box.add_class(each)
    return box
