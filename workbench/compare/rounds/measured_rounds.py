"""The rounds that the engines of a comparison took in turn, from the logs of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from workbench.compare.lockstep import LockstepPlan
from workbench.compare.rounds.recorded_steps import RecordedSteps, StepArrays, taken_in_turn
from workbench.compare.rounds.statistics import Speed, speeds_of
from workbench.run_folder.results.throughput import rounds_of
from workbench.runs import Run


class MeasuredRounds:
    """Steps and rounds of runs, each log read once; may be read from several threads."""

    def __init__(self, plan: LockstepPlan, baseline: Callable[[], Run | None]) -> None:
        """
        Args:
            plan: how the steps of the comparison are divided.
            baseline: returns the run that all are measured against; None: that of the reference.
        """
        self._plan = plan
        self._baseline = baseline
        self._recorded: dict[str, RecordedSteps] = {}

    def steps(self, run: Run) -> StepArrays:
        """All steps of the run so far."""
        if run.id not in self._recorded:
            self._recorded[run.id] = RecordedSteps(run)
        return self._recorded[run.id].read()

    def rounds(self, run: Run) -> np.ndarray:
        """Samples per second of the run in each measured round: float64, shape (rounds,)."""
        plan = self._plan
        steps = taken_in_turn(self.steps(run), run, plan.total)
        return rounds_of(steps.seconds, steps.samples, plan.unmeasured, plan.burst)

    def speeds(self, runs: Mapping[str, Run], reference: str) -> dict[str, Speed]:
        """Throughput and ratio of each run, by its engine; see `speeds_of`."""
        rounds = {engine: self.rounds(run) for engine, run in runs.items()}
        baseline = self._baseline()
        against = None if baseline is None else self.rounds(baseline)
        return speeds_of(rounds, reference, against)
