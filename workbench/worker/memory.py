"""The resident set of this process: now and at its peak."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

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
