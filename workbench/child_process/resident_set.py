"""Resident memory of a process. The watchdog uses it: standard library only."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path


class ResidentSet:
    """Resident set of another process, in bytes."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._statm: int | None = None
        if sys.platform == "linux":
            self._statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY)

    def bytes(self) -> int:
        """Current resident set; 0 if the process has ended."""
        try:
            if self._statm is not None:
                return int(os.pread(self._statm, 128, 0).split()[1]) * resource.getpagesize()
            command = ["ps", "-o", "rss=", "-p", str(self._pid)]
            return int(subprocess.run(command, capture_output=True, check=False).stdout) * 1024
        except (OSError, IndexError, ValueError):
            return 0

    def peak_bytes(self) -> int:
        """Largest resident set so far; 0 if the system does not record it."""
        return recorded_peak_bytes(self._pid)


def recorded_peak_bytes(pid: int) -> int:
    """Peak resident set of a process, VmHWM of proc(5); 0 if the system does not record it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
