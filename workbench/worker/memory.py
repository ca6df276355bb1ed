"""The resident set of this process: now, at its peak, and held under a limit."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

LIMIT_POLL_S = 0.01

_process = psutil.Process()


def rss_bytes() -> int:
    """Resident set of this process now, in bytes."""
    return int(_process.memory_info().rss)


def peak_rss_bytes() -> int:
    """Largest resident set that this process has had, in bytes.

    On Linux this is VmHWM of proc(5). `getrusage` will not do there: its maximum survives exec, so
    a worker would report the memory of the notebook kernel that started it.
    """
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def hold_limit(limit_bytes: int, on_exceeded: Callable[[int], None]) -> None:
    """Watch the resident set from a thread; past `limit_bytes`, report it and end the process.

    The limit is on resident memory: a limit on address space would count what PyTorch and
    ONNX Runtime map and never touch.

    Args:
        limit_bytes: the largest resident set allowed.
        on_exceeded: called with the resident set found, in bytes, just before the process ends.
    """

    def watch() -> None:
        while (resident := rss_bytes()) <= limit_bytes:
            time.sleep(LIMIT_POLL_S)
        on_exceeded(resident)
        os._exit(1)

    threading.Thread(target=watch, name="memory-limit", daemon=True).start()
