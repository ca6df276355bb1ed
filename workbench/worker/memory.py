"""Current and peak resident set of this process."""

from __future__ import annotations

import os
import resource
import sys

import psutil

from workbench.child_process.resident_set import recorded_peak_bytes

_process = psutil.Process()


def rss_bytes() -> int:
    """Current resident set of this process, in bytes."""
    return int(_process.memory_info().rss)


def peak_rss_bytes() -> int:
    """Peak resident set of this process, in bytes.

    On Linux this is VmHWM of proc(5). The maximum of `getrusage` is kept across exec, so a worker
    would report the memory of the notebook kernel that started it.
    """
    if recorded := recorded_peak_bytes(os.getpid()):
        return recorded
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
