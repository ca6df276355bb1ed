"""Records the load of other programs while a run trains."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import psutil

from workbench.machine.load import LoadMeter
from workbench.run_folder.events import EventWriter

WRITE_NS = 10_000_000_000
"""Length of a measurement: a worker that is killed loses one."""
SHORTEST_S = 0.1
"""Shorter ones are left out: the CPU time of a process advances in steps of 10 ms."""


class LoadRecorder:
    """Measures from the end of the warm-up on, evaluations and checkpoints included, except while
    the worker waits: of short epochs, what lies between could not be measured.

    Where the system does not tell the CPU times, nothing is recorded.
    """

    def __init__(self, events: EventWriter, warmup_steps: int, pids: Sequence[int]) -> None:
        """Create a recorder.

        Args:
            events: where the load is written.
            warmup_steps: first steps that do not count.
            pids: the processes of the run.
        """
        self._meter = LoadMeter(lambda: pids)
        self._events = events
        self._warmup_steps = warmup_steps
        self._on = False
        self._write_after_ns = 0

    def start(self, step: int) -> None:
        """Measure after `step`, or from the end of the warm-up on."""
        self._on = True
        if step >= self._warmup_steps:
            self._begin()

    def step_ended(self, step: int) -> None:
        """Write what was measured, if that is long, and measure on; called after each step."""
        due = self._on and time.perf_counter_ns() >= self._write_after_ns
        if due and step >= self._warmup_steps:
            self._write(step)
            self._begin()

    def stop(self, step: int) -> None:
        """Write what was measured up to `step`, and measure no more."""
        self._write(step)
        self._on = False

    def _begin(self) -> None:
        self._write_after_ns = time.perf_counter_ns() + WRITE_NS
        with contextlib.suppress(OSError, psutil.Error):
            self._meter.start()

    def _write(self, step: int) -> None:
        self._write_after_ns = 0
        try:
            self._meter.stop()
        except (OSError, psutil.Error):
            return
        load = self._meter.take()
        if load is not None and load.wall_s >= SHORTEST_S:
            self._events.write("load", step=step, **load._asdict())
