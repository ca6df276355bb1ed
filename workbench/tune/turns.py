"""The steps that a process takes at a time when it is timed in turn with others."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.profiling.steps import EngineSteps

TURN_S = 0.15
"""A turn starts no step after this."""

FEWEST_STEPS = 3
"""Fewest steps of a turn, whose median is used: the first step after a pause is slow."""


def turn(steps: EngineSteps, fewest: int) -> float:
    """Median seconds of some steps."""
    started = time.perf_counter()
    taken: list[float] = []
    while len(taken) < fewest or time.perf_counter() - started < TURN_S:
        taken.append(steps.wall_ms() / 1e3)
    return median(taken)
