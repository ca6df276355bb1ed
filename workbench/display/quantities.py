"""Text of quantities with their unit: durations, threads."""

from __future__ import annotations

import math


def duration_text(seconds: float) -> str:
    """A duration as text: 0.8 s, 134 s as "2 min 14 s", 3 h 5 min."""
    if math.isnan(seconds):
        return "–"  # noqa: RUF001
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"


def thread_count(threads: int, processes: int = 1) -> str:
    """The threads of a process with their unit: `1 thread`, `2 processes of 4 threads`."""
    several = f"{processes} processes of " if processes > 1 else ""
    return several + ("1 thread" if threads == 1 else f"{threads} threads")
