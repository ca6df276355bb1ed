"""Keeps a page usable while the kernel is busy with a cell."""

from __future__ import annotations

from typing import Any

import ipywidgets


def answer_while_busy(widget: ipywidgets.Widget) -> None:
    """Handle messages to `widget` and everything in it while a cell runs.

    JupyterLab sends them to a subshell of the kernel, which is a separate thread. Since
    ipykernel 7.4 a comm forwards them to the thread that last used it, which for a widget made in a
    cell is the one that the next cell keeps busy. Without this, Stop would wait for that cell. Only
    for widgets whose handlers are safe on any thread. Without such routing in ipykernel this has no
    effect.
    """
    comm = widget.comm
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _as_addressed
    for child in getattr(widget, "children", ()):
        answer_while_busy(child)


def _as_addressed(_: Any, addressed: str | None) -> str | None:
    """The subshell that the message was sent to; None, the thread of the cells, if there is none.

    JupyterLab goes on to name that of the kernel before, where another client has restarted it.
    """
    from ipykernel.kernelbase import Kernel

    subshells = Kernel.instance().shell_channel_thread.manager.list_subshell()
    return addressed if addressed in subshells else None
