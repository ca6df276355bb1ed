"""Current and peak resident set of the processes of a run."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence

import psutil

from workbench.child_process.resident_set import recorded_peak_bytes

_process = psutil.Process()
_measured = {"highest": 0}
"""The highest resident set of this process that was measured, in bytes."""


def rss_bytes() -> int:
    """Current resident set of this process, in bytes."""
    return _rss_of(_process)


class ResidentSets:
    """Resident sets of this process and of others of the same run, in bytes."""

    def __init__(self, pids: Sequence[int] = ()) -> None:
        """Measure the processes `pids`; empty: this one."""
        self._processes = [psutil.Process(pid) for pid in pids] or [_process]

    @property
    def pids(self) -> list[int]:
        """The processes."""
        return [process.pid for process in self._processes]

    def now(self) -> list[int]:
        """Current resident set of each process; 0 if it has ended."""
        return [_rss_of(process) for process in self._processes]

    def peaks(self) -> list[int]:
        """Peak of each process; on other systems than Linux the current value for others."""
        return [
            peak_rss_bytes()
            if process.pid == os.getpid()
            else recorded_peak_bytes(process.pid) or _rss_of(process)
            for process in self._processes
        ]


def _rss_of(process: psutil.Process) -> int:
    try:
        found = int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
    if process.pid == os.getpid():
        _measured["highest"] = max(_measured["highest"], found)
    return found


def peak_rss_bytes() -> int:
    """Peak resident set of this process, in bytes.

    On Linux this is VmHWM of proc(5). The maximum of `getrusage` is kept across exec, so a worker
    would report the memory of the notebook kernel that started it. The kernel counts it in steps
    of some pages for each thread, so that a value that was measured may be higher.
    """
    if recorded := recorded_peak_bytes(os.getpid()):
        return max(recorded, _measured["highest"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
