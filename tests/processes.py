"""Waiting for what happens in processes and threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 90.0
"""Longest wait for what takes some seconds on an idle machine."""


def until(condition: Callable[[], object], timeout: float = PATIENCE_S) -> None:
    """Wait until `condition` holds; fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


def gone(pid: int) -> Callable[[], bool]:
    """Whether the process `pid` has ended."""

    def ended() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return ended


def own_threads() -> set[threading.Thread]:
    """Those of this process but tqdm's, which the first export starts for the whole process."""
    return {thread for thread in threading.enumerate() if thread.name != "tqdm_monitor"}
