"""`wb.tune`: times the kernel variants of an engine and saves the fastest.

Kernels are timed in a child process; this one loads no native code.
"""

from __future__ import annotations

from workbench.tune.result import Tuning
from workbench.tune.tune import tune

__all__ = ["Tuning", "tune"]
