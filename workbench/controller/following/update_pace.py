"""How often a page shows what a run has done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import partial

from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, worker_pids
from workbench.machine.load import cpu_times, idle_seconds
from workbench.machine.threads import default_threads

BUSY_PERIOD_S = 2.0
"""Interval of updates that would slow down a run, or a measurement."""
LONGEST_PERIOD_S = 5.0
"""The same of a run that is long under way: an update then adds little to the charts."""
PERIOD_SHARE = 0.05
"""The interval grows from the one to the other as this share of the time since it is followed."""
MEASURE_S = 2.0
"""Length of a measurement of the processor time of a run."""
BUSY_MEASURE_S = 10.0
"""The same while it needs every core: a measurement reads the list of all processes."""
PAGE_CORES = 0.5
"""Up to so much of a core draws a page that is shown often."""
TAKEN_CORES = 1.25
"""A run that leaves fewer cores to the page waits for it."""
FREE_CORES = 1.5
"""Cores that it must leave to be shown often again."""


def always(period_s: float) -> Callable[[], float]:
    """A pace that stays the same, whatever the load."""
    return lambda: period_s


def next_update(shown_at: float, period_s: float) -> float:
    """When to show next what was shown at `shown_at`, both of the monotonic clock.

    Views of the same period are updated together: one frame of the browser shows all of them.
    """
    if not period_s or not math.isfinite(shown_at):
        return shown_at
    return (shown_at // period_s + 1) * period_s


def pace_of(job: Job) -> Callable[[], float]:
    """How often to show `job`: what a comparison measures is disturbed as little as possible."""
    if isinstance(job, ComparisonJob):
        return always(BUSY_PERIOD_S)
    return UpdatePace(partial(worker_pids, job))


class UpdatePace:
    """Least seconds between updates: none, or `BUSY_PERIOD_S` to `LONGEST_PERIOD_S` while a run
    needs every core.

    Its threads wait for each other: what takes a tenth of one core from them takes a tenth of the
    throughput.
    """

    def __init__(self, workers: Callable[[], Iterable[int]]) -> None:
        """Start to measure.

        Args:
            workers: returns the process ids of the workers.
        """
        self._workers = workers
        self._busy = False
        self._began = self._measured_at = time.monotonic()
        self._before, self._idle_s = cpu_times(workers()), idle_seconds()

    def __call__(self) -> float:
        """The pace now; measures now and then. Call it about as often as there are updates."""
        wall_s = time.monotonic() - self._measured_at
        if wall_s >= (BUSY_MEASURE_S if self._busy else MEASURE_S):
            now, idle_s = cpu_times(self._workers()), idle_seconds()
            used_s = sum(now[pid] - self._before[pid] for pid in now.keys() & self._before.keys())
            # A worker beside other programs takes less than it needs: what is idle counts too.
            drawing = 0.0 if self._busy else PAGE_CORES
            left = (idle_s - self._idle_s) / wall_s + drawing
            self._adapt(min(default_threads() - used_s / wall_s, left))
            self._measured_at, self._before, self._idle_s = time.monotonic(), now, idle_s
        return self._busy_period_s if self._busy else 0.0

    @property
    def _busy_period_s(self) -> float:
        # Of whole seconds: views that are updated together need the same one for a while.
        share_s = PERIOD_SHARE * (time.monotonic() - self._began)
        return min(max(BUSY_PERIOD_S, math.floor(share_s)), LONGEST_PERIOD_S)

    def _adapt(self, free_cores: float) -> None:
        if free_cores < TAKEN_CORES:
            self._busy = True
        elif free_cores > FREE_CORES:
            self._busy = False
