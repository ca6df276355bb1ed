"""How often a page shows what a run has done."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.machine.load import Load, LoadMeter

BUSY_PERIOD_S = 1.0
"""Interval of updates that use a core which is measured, or on which the run depends."""
MEASURE_S = 1.0
"""Length of a measurement of the load."""
TAKEN_CORES = 0.75
"""Fewer free cores than this: page and run share one, and updates slow the run down."""
FREE_CORES = 1.25
"""More free cores than this: one is left while the page draws, which takes up to half of one."""


def always(period_s: float) -> Callable[[], float]:
    """A pace that stays the same, whatever the load."""
    return lambda: period_s


class UpdatePace:
    """Least seconds from one update to the next: none, or `BUSY_PERIOD_S` while no core is free.

    A run that trains on every core would otherwise wait for the page, which draws.
    """

    def __init__(self, meter: LoadMeter | None = None) -> None:
        """Start to measure.

        Args:
            meter: of everything that runs, the run included; None: of this machine.
        """
        self._meter = LoadMeter() if meter is None else meter
        self._period_s = 0.0
        self._measured_after = time.monotonic() + MEASURE_S
        self._meter.start()

    def __call__(self) -> float:
        """The pace now; measures once a second. Call it about as often as there are updates."""
        if time.monotonic() >= self._measured_after:
            self._meter.stop()
            self._adapt(self._meter.take())
            self._measured_after = time.monotonic() + MEASURE_S
            self._meter.start()
        return self._period_s

    def _adapt(self, load: Load | None) -> None:
        if load is None:  # unknown, as where a container has no clocks
            return
        free_cores = load.cores - load.other_cores
        if free_cores < TAKEN_CORES:
            self._period_s = BUSY_PERIOD_S
        elif free_cores > FREE_CORES:
            self._period_s = 0.0
