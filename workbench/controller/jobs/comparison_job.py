"""A comparison, as a job."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.compare import Comparison
from workbench.compare.verdict import BADGES
from workbench.controller.jobs.job import any_failed, ended_early, model_of
from workbench.controller.jobs.outcome import listed, not_started, outcome_of
from workbench.controller.jobs.stopping import Stopping
from workbench.runs import Run

WAIT_FOR_QUIET = "“Wait for idle machine (s)” lets Compare wait for a quiet one."


class ComparisonJob:
    """A comparison, as a job."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.id = comparison.id
        self.engines = comparison.engines
        self.pause = comparison.pause
        self.resume = comparison.resume
        self.plot = comparison.plot
        self._stopping = Stopping()
        self._all_started = False

    @property
    def runs(self) -> dict[str, Run]:
        return self.comparison.runs

    @property
    def status(self) -> str:
        """That of the comparison; `starting` until the last engine has started."""
        status = self.comparison.status
        if status != "running":
            return status
        if not self._all_started:  # then known: each look at a run reads files while it is measured
            self._all_started = all(run.status != "starting" for run in self.runs.values())
        return status if self._all_started else "starting"

    @property
    def doing(self) -> str:
        early = {engine: run for engine, run in self.runs.items() if ended_early(run)}
        engines = listed([each for each in self.engines if each not in early] or self.engines)
        if self._stopping.asked:
            return self._stopping.text(f"the comparison of {engines}")
        phase = self.comparison.phase
        if phase == "paused":
            return f"Paused the comparison of {engines}."
        count = "1 engine" if len(self.engines) == 1 else f"{len(self.engines)} engines"
        # What is done beside steps is worth the room of their names.
        comparing = f"Comparing {engines if phase == 'running' else f'{count}; {phase}'}."
        return "\n".join([comparing, *map(outcome_of, early.values())])

    @property
    def outcome(self) -> str:
        runs = self.runs
        if self.comparison.error:
            return self.comparison.error
        if not runs:
            return "Stopped before any engine had started."
        early = [engine for engine, run in runs.items() if ended_early(run)]
        errors = self.comparison.errors
        missing = [each for each in self.engines if each not in runs and each not in errors]
        unreadable = [f"{each}: {errors[each]}" for each in errors if each not in runs]
        whole = [engine for engine in runs if engine not in early]
        lines = [f"Compared {_few_or_count(whole)} on {model_of(self)}."] if whole else []
        lines += [f"{self.comparison.warning} {WAIT_FOR_QUIET}"] if self.caveat else []
        cut = [engine for engine in early if runs[engine].error is None]
        if cut and not whole:  # the comparison was stopped, not one of its engines
            what = f"{self.status.capitalize()} the comparison of {listed([*cut, *missing])}"
            lines.append(f"{what} on {model_of(self)}.")
            early = [engine for engine in early if engine not in cut]
        lines += [outcome_of(runs[engine]) for engine in early]
        return "\n".join([*lines, *unreadable, *not_started(missing)])

    @property
    def failed(self) -> bool:
        return self.status == "failed" or any_failed(self.runs)

    @property
    def caveat(self) -> str:
        completed = self.status == "completed"
        return BADGES["busy"] if completed and self.comparison.warning else ""

    def stop(self) -> None:
        self._stopping.ask()
        self.comparison.stop()

    def step_once(self) -> None:
        """No effect: the engines of a comparison step in turn, by bursts."""

    def advance(self) -> None:
        """Nothing to do: a comparison starts its engines itself."""


def _few_or_count(engines: Sequence[str]) -> str:
    """Their names, or how many there are: more would take the room of what the result is."""
    return f"{len(engines)} engines" if len(engines) > 2 else listed(engines)
