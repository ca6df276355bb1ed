"""The message region of the page."""

from __future__ import annotations

import threading
from typing import Any

import anywidget
import traitlets

from workbench.controller import Level
from workbench.widgets.bundle import bundle


class Status(anywidget.AnyWidget):
    """Shows the current activity, errors and progress."""

    _esm = bundle("status.js")
    _css = bundle("status.css")

    level = traitlets.Unicode("idle").tag(sync=True)
    message = traitlets.Unicode().tag(sync=True)
    """One or a few sentences; read aloud when it changes."""
    detail = traitlets.Unicode().tag(sync=True)
    """Text that changes many times a second; not read aloud."""
    progress = traitlets.Float(-1.0).tag(sync=True)
    """Share of the work done, 0 to 1; below 0 when there is no work."""
    left = traitlets.Unicode().tag(sync=True)
    """Remaining time, such as "about 2 min left"; empty while not known."""

    def __init__(self, **kwargs: Any) -> None:
        self._lock = threading.Lock()
        super().__init__(**kwargs)

    def show(
        self,
        level: Level,
        message: str,
        detail: str = "",
        progress: float = -1.0,
        left_s: float = -1.0,
    ) -> None:
        """Replace everything that is shown, in one message to the browser."""
        with self._lock, self.hold_sync():
            self.level = level
            self.message = message
            self.detail = detail
            self.progress = progress
            self.left = time_left(left_s)


def time_left(left_s: float) -> str:
    """Seconds as text; empty when they are not known."""
    if left_s < 0:
        return ""
    if left_s < 90:
        return f"about {max(1, round(left_s))} s left"
    if left_s < 90 * 60:
        return f"about {round(left_s / 60)} min left"
    return f"about {left_s / 3600:.1f} h left"
