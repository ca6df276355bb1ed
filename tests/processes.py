"""Waiting for processes and for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def until(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    """Wait until `condition` holds; fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def gone(pid: int) -> Callable[[], bool]:
    """Whether the process `pid` has ended."""

    def ended() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return ended
