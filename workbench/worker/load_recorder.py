"""Records the load of other programs while the steps of a run are measured."""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.machine.load import LoadMeter
from workbench.run_folder.events import EventWriter

WRITE_NS = 10_000_000_000
"""Length of a measurement: a worker that is killed loses one."""


class LoadRecorder:
    """Measures from the end of the warm-up on, except while the worker waits."""

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
        self._write_after_ns = 0

    def step_ended(self, step: int) -> None:
        """Measure on, and write what was measured from time to time; called after each step."""
        now = time.perf_counter_ns()
        if now < self._write_after_ns or step < self._warmup_steps:
            return
        self.stop(step)
        self._meter.start()
        self._write_after_ns = now + WRITE_NS

    def stop(self, step: int) -> None:
        """Write what was measured up to `step`; the next step begins a new measurement."""
        self._meter.stop()
        self._write_after_ns = 0
        load = self._meter.take()
        if load is not None:
            self._events.write("load", step=step, **load._asdict())
