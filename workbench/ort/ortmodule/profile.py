"""What the nodes of an ORTModule's graphs take in training steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.operator_timing import Timing
from workbench.ort.ortmodule.module import ORTModule
from workbench.ort.ortmodule.statistics import session_of
from workbench.ort.profiles import runs_of


class Window(NamedTuple):
    """When a step ran, in nanoseconds on the clock of `time.time_ns`."""

    start_ns: int
    end_ns: int


def step_timings(module: ORTModule, windows: Sequence[Window]) -> list[list[Timing]]:
    """What each node took in each step; ends the profile of every session of `module`.

    Args:
        module: its graphs were built within `profiled`.
        windows: when each step ran: forward, then backward.
    """
    steps: list[list[Timing]] = [[] for _ in windows]
    for built in module.built_graphs:
        events, start_ns = session_of(built).end_profile()
        runs = runs_of(events)
        for index, window in enumerate(windows):
            begin, end = ((edge - start_ns) / 1000 for edge in window)
            passes = [run for run in runs if begin <= run.start_us < end]
            for place, one_pass in enumerate(passes):
                steps[index] += one_pass.timings("backward" if place % 2 else "forward")
    return steps
