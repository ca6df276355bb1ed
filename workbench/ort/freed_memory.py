"""Returns memory that was freed during preparation to the system, before anything is run.

Exporting a module, differentiating its graph and checking kernels copy weights and values several
times over and read source code. All of that is freed, but malloc keeps it, and what the passes take
would come on top.
"""

from __future__ import annotations

import ctypes
import linecache


def give_back_freed_memory() -> None:
    """Return pages without content to the system; without glibc, only source lines are dropped."""
    linecache.clearcache()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)
