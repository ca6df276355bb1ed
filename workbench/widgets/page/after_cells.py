"""What a page does after each cell that is executed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ipywidgets import Widget


def after_each_cell(widget: Widget, update: Callable[[Any], object]) -> None:
    """Call `update` with the widget after each executed cell, until the widget is closed.

    Outside of IPython there are no cells.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None:
        return
    found = weakref.ref(widget)

    def after_cell(*_: Any) -> None:
        known = found()
        if known is None or known.comm is None:
            shell.events.unregister("post_run_cell", after_cell)
        else:
            update(known)

    shell.events.register("post_run_cell", after_cell)
