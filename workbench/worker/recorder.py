"""Records steps in batches, to keep the overhead small."""

from __future__ import annotations

import time

from workbench.run_folder.events import EventWriter
from workbench.run_folder.step_columns import written_durations, written_losses
from workbench.worker.memory import ResidentSets

FLUSH_NS = 100_000_000
"""Interval at which the collected steps are written as one event."""


class StepRecorder:
    """Collects the steps of a run and writes them, with the resident set, every 0.1 s."""

    def __init__(
        self,
        events: EventWriter,
        batch_size: int,
        steps_per_epoch: int,
        done_steps: int = 0,
        resident_sets: ResidentSets | None = None,
    ) -> None:
        """Create a recorder.

        Args:
            events: where the steps are written.
            batch_size: samples per step.
            steps_per_epoch: number of steps.
            done_steps: steps before the first that is recorded.
            resident_sets: of all processes of the run; None: this one is the only one.
        """
        self._resident_sets = resident_sets or ResidentSets()
        self._events = events
        self._batch_size = batch_size
        self._steps_per_epoch = steps_per_epoch
        self._losses: list[float] = []
        self._nanoseconds: list[int] = []
        self._flush_after_ns = 0
        self.done_steps = done_steps

    def add(self, loss: float, started_ns: int, ended_ns: int) -> None:
        """Record one step: its loss and the clock before and after it."""
        self._losses.append(loss)
        self._nanoseconds.append(ended_ns - started_ns)
        self.done_steps += 1
        if ended_ns > self._flush_after_ns:
            self.flush()

    def flush(self) -> None:
        """Write the steps collected since the last call, if any."""
        if not self._losses:
            return
        self._flush_after_ns = time.perf_counter_ns() + FLUSH_NS
        sizes = self._resident_sets.now()
        self._events.write(
            "steps",
            first_step=self.done_steps - len(self._losses) + 1,
            losses=written_losses(self._losses),
            nanoseconds=written_durations(self._nanoseconds),
            batch_size=self._batch_size,
            steps_per_epoch=self._steps_per_epoch,
            rss_bytes=sum(sizes),
            **({"rank_rss_bytes": sizes} if len(sizes) > 1 else {}),
        )
        self._losses.clear()
        self._nanoseconds.clear()
