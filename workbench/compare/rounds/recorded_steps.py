"""The steps of a run of a comparison, each read once.

A page reads the table every two seconds, on the machine that is measured: parsing the logs from
their beginning each time would disturb what they record.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from workbench.runs import Run


class StepArrays(NamedTuple):
    """Arrays with one entry per step; see `NewPoints`."""

    step: np.ndarray
    loss: np.ndarray
    seconds: np.ndarray
    samples: np.ndarray


NONE_YET = StepArrays(
    np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.float64), np.empty(0, np.int64)
)


def taken_in_turn(steps: StepArrays, run: Run, total: int) -> StepArrays:
    """Those of `steps` that `run` took in turn with the other engines, of `total` that were
    planned: after it was resumed it was trained alone."""
    resumed_from = run.spec.get("resumed_from")
    last = total if resumed_from is None else min(resumed_from, total)
    return StepArrays(*(values[steps.step <= last] for values in steps))


class RecordedSteps:
    """The steps recorded by one run so far; may be read from several threads."""

    def __init__(self, run: Run) -> None:
        self._reader = run.follow()
        self._steps = NONE_YET
        self._lock = threading.Lock()

    def read(self) -> StepArrays:
        """The steps until now; takes a few microseconds if there are no new ones."""
        with self._lock:
            new = self._reader.poll()
            kept = self._steps
            if new.restored_step is not None:
                # A resumed run has trained these steps again.
                kept = StepArrays(*(values[kept.step <= new.restored_step] for values in kept))
            if kept is not self._steps or len(new.step):
                found = StepArrays(new.step, new.loss, new.seconds, new.samples)
                self._steps = StepArrays(*map(np.concatenate, zip(kept, found, strict=True)))
            return self._steps
