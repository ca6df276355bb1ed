"""Keeps a page usable while the kernel is busy with a cell."""

from __future__ import annotations

from typing import Any

import ipywidgets


def answer_while_busy(widget: ipywidgets.Widget) -> None:
    """Let messages to `widget` and everything in it be handled while a cell runs.

    JupyterLab sends them to a subshell of the kernel, which is a thread of its own. Since
    ipykernel 7.4 a comm sends them on to the thread that spoke to it last, which for a widget made
    in a cell is the one that the next cell keeps busy. Without this, Stop would have to wait for
    that cell. Only for widgets whose handlers are safe on any thread. Where ipykernel has no such
    routing there is nothing to undo.
    """
    comm = widget.comm
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _as_addressed
    for child in getattr(widget, "children", ()):
        answer_while_busy(child)


def _as_addressed(_: Any, addressed: str | None) -> str | None:
    """The subshell that the message was sent to."""
    return addressed
