"""The memory of another process; the standard library alone, for the watchdog."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path


class ResidentSet:
    """Memory of another process, in bytes."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._statm: int | None = None
        if sys.platform == "linux":
            self._statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY)

    def bytes(self) -> int:
        """Resident set now; 0 where the process has ended."""
        try:
            if self._statm is not None:
                return int(os.pread(self._statm, 128, 0).split()[1]) * resource.getpagesize()
            asked = ["ps", "-o", "rss=", "-p", str(self._pid)]
            return int(subprocess.run(asked, capture_output=True, check=False).stdout) * 1024
        except (OSError, IndexError, ValueError):
            return 0

    def peak_bytes(self) -> int:
        """Largest resident set so far; 0 where the system does not say."""
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{self._pid}/status").read_text(encoding="ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0
