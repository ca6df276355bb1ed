"""How often the folder of the runs is polled."""

from __future__ import annotations

POLL_S = 0.5
"""Shortest interval."""
POLL_SHARE = 0.005
"""Largest share of a core for polling: what is trained meanwhile may need all of them."""
LONGEST_S = 5.0
"""Longest interval: the first poll of many runs takes far longer than those after it."""


def poll_interval_s(cpu_s: float) -> float:
    """After how long to poll again, in seconds, after a poll that took `cpu_s` of the processor."""
    return min(max(POLL_S, cpu_s / POLL_SHARE), LONGEST_S)
