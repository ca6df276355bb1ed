"""What stands between a worker and its next step: its watchers, a signal, a parent that is gone."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

from workbench.control import ControlReader

POLL_S = 0.002
"""How often a waiting worker looks for a new wish."""


class Control:
    """The wishes of the watchers, and the reasons to stop that come from elsewhere."""

    def __init__(self, path: Path) -> None:
        self._reader = ControlReader(path)
        self._stop_requested = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_: Any) -> None:
        self.request_stop()

    def request_stop(self) -> None:
        """Stop before the next step; callable from any thread."""
        self._stop_requested = True

    def stop_wanted(self) -> bool:
        return self._stop_requested or self._reader.read().state == "stop"

    def pause_wanted(self) -> bool:
        return self._reader.read().state == "pause"

    def may_step(self, done_steps: int) -> bool:
        """Whether the worker may take the step after `done_steps`."""
        return not self._stop_requested and self._reader.may_step(done_steps)

    def wait(self) -> None:
        """Give the watchers a moment to change their wish."""
        time.sleep(POLL_S)
