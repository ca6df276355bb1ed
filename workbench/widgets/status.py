"""The message region of the page."""

from __future__ import annotations

import threading
from typing import Any, Literal

import anywidget
import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.bundle import bundle

Level = Literal["idle", "busy", "paused", "done", "error"]


class Status(anywidget.AnyWidget):
    """Says what is going on and what went wrong, and shows how far the work is."""

    _esm = bundle("status.js")
    _css = bundle("status.css")

    level = traitlets.Unicode("idle").tag(sync=True)
    message = traitlets.Unicode().tag(sync=True)
    """One or a few sentences; read aloud when it changes."""
    detail = traitlets.Unicode().tag(sync=True)
    """What changes many times a second; not read aloud."""
    progress = traitlets.Float(-1.0).tag(sync=True)
    """Share of the work done, 0 to 1; below 0 when there is no work."""

    def __init__(self, **kwargs: Any) -> None:
        self._lock = threading.Lock()
        super().__init__(**kwargs)

    def show(self, level: Level, message: str, detail: str = "", progress: float = -1.0) -> None:
        """Replace everything that is shown, in one message to the browser."""
        with self._lock, self.hold_sync():
            self.level = level
            self.message = message
            self.detail = detail
            self.progress = progress

    def show_error(self, error: Exception) -> None:
        """Show an error as what went wrong and what to do, without a traceback."""
        text = str(error)
        if not isinstance(error, WorkbenchError):
            text = f"Something unforeseen went wrong: {type(error).__name__}: {text}"
        self.show("error", text)
