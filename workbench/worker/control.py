"""What the watchers of a run want of its worker, read from control.json."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

POLL_S = 0.002
"""How often a waiting worker looks for a new wish."""
LOOK_S = 0.005
"""How often a training worker does: a system call before each step would slow the shortest steps
by a tenth, for what it takes out of the processor's caches. A longer step sees a wish before it."""


class Control:
    """The wishes of the watchers: `run`, `pause` or `stop`, and how many steps are granted."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)  # a string: os.stat on a Path costs twice as much
        self._stamp: tuple[int, int] | None = None
        self._state = "run"
        self._granted_steps: int | None = None
        self._stop_signal = False
        self._look_again = 0.0
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_: Any) -> None:
        self._stop_signal = True

    def request_stop(self) -> None:
        """Stop before the next step; callable from any thread."""
        self._stop_signal = True

    def stop_wanted(self) -> bool:
        self._refresh()
        return self._stop_signal or self._state == "stop"

    def pause_wanted(self) -> bool:
        self._refresh()
        return self._state == "pause"

    def may_step(self, done_steps: int) -> bool:
        """Whether the worker may take the step after `done_steps`: no wish stands against it."""
        self._refresh()
        if self._stop_signal or self._state != "run":
            return False
        return self._granted_steps is None or done_steps < self._granted_steps

    def wait(self) -> None:
        """Give the watchers a moment to change their wish."""
        time.sleep(POLL_S)
        self._look_again = 0.0

    def _refresh(self) -> None:
        now = time.perf_counter()
        if now < self._look_again:
            return
        self._look_again = now + LOOK_S
        # The file is only ever replaced whole, so its identity tells.
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp == self._stamp:
            return
        wish = json.loads(Path(self._path).read_text(encoding="utf-8"))
        self._state = wish["state"]
        self._granted_steps = wish.get("granted_steps")
        self._stamp = stamp
