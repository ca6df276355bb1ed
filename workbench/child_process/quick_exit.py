"""The end of a process that has loaded native libraries."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import NoReturn


def quick_exit(status: int) -> NoReturn:
    """End this process after its exit handlers, without unloading libraries.

    Unloading torch takes half a second, and threads of native code can hang in it.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
