"""Training with one or more engines, one after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

from workbench.compare.verdict import BADGES
from workbench.controller.jobs.job import any_failed
from workbench.controller.jobs.next_engines import forget_next_engines, write_next_engines
from workbench.controller.jobs.outcome import (
    is_negative,
    name_of,
    outcome_of_training,
)
from workbench.controller.jobs.single_step import SingleStep
from workbench.controller.jobs.stopping import Stopping
from workbench.controller.state import failure
from workbench.errors import with_full_stop
from workbench.runs import Run
from workbench.runs.figures.figure import plot_runs
from workbench.runs.record.activity import ENDED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_COMPARABLE = (
    "The machine was busy: their throughputs do not compare; Compare measures the engines in short "
    "turns."
)


class Training:
    """Trains with one engine after another; in parallel they would slow each other down.

    Several pages may follow and control one, each on its own thread.
    """

    _of_runs: ClassVar[WeakValueDictionary[str, Training]] = WeakValueDictionary()
    """Those of this process, by the ids of their runs."""

    def __init__(
        self,
        start: Callable[[str], Run],
        engines: Sequence[str],
        runs: Mapping[str, Run] | None = None,
    ) -> None:
        """Start the first engine, unless some were started before.

        Args:
            start: starts the run of an engine.
            engines: in the order in which they train; at least one.
            runs: those that were started before, by engine, that in progress last; None: none.
        """
        self._start = start
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        """Held while an engine is started, which takes seconds."""
        self._stopping = Stopping()
        self._single_step: SingleStep | None = None
        self._pausing = False
        """Whether it was asked to pause, and has not yet."""
        self._refused: dict[str, str] = {}
        """Why an engine could not be started, by name."""
        self.engines = list(engines)
        self.runs = dict(runs) if runs else {self.engines[0]: start(self.engines[0])}
        for run in self.runs.values():
            self._remember(run)
        write_next_engines(self._current.folder, self.waiting)

    @classmethod
    def of(cls, run: Run) -> Training:
        """A job for the single `run`, started by any process."""
        return cls(lambda _: run, [run.engine])

    @classmethod
    def following(cls, run: Run) -> Training:
        """The job that `run` is in progress for, as another page may show it; else one for it
        alone."""
        return cls._in_progress(run) or cls.of(run)

    @classmethod
    def resumed_with(cls, run: Run) -> Training | None:
        """The job that `run`, resumed elsewhere, goes on for, with the engines that waited for it;
        None: none is known."""
        if (job := cls._in_progress(run)) is not None:
            return job
        before = cls._of_runs.get(run.id)
        return before.resumed(run) if before is not None and before.waiting else None

    @classmethod
    def waiting_after(cls, run: Run) -> list[str]:
        """The engines that train after `run`, which is in progress."""
        job = cls._in_progress(run)
        return [] if job is None else job.waiting

    @classmethod
    def _in_progress(cls, run: Run) -> Training | None:
        job = cls._of_runs.get(run.id)
        return None if job is None or job._stopping.asked or job.status in ENDED else job

    def _remember(self, run: Run) -> None:
        """That `run` is one of this job, unless this follows alone what engines wait for."""
        known = self._of_runs.get(run.id)
        if known is None or not known.waiting or len(self.engines) > 1:
            self._of_runs[run.id] = self

    def resumed(self, run: Run) -> Training:
        """The job that goes on with a run of this one, and then with the engines that were not
        started.

        Args:
            run: the same run, resumed.
        """
        found = next(engine for engine, each in self.runs.items() if each.id == run.id)
        others = {engine: each for engine, each in self.runs.items() if engine != found}
        return self._further({**others, found: run})

    def continued(self) -> Training:
        """The job that trains the engines of `untrained`."""
        return self._further(
            {name: r for name, r in self.runs.items() if name not in self.untrained}
        )

    def _further(self, runs: Mapping[str, Run]) -> Training:
        further = Training(self._start, self.engines, runs)
        further._refused = self._refused
        return further

    @property
    def id(self) -> str:
        return self._current.id

    @property
    def status(self) -> str:
        """That of the run in progress; between two runs, `starting`."""
        status = self._current.status
        if self._single_step is not None and status == "running":
            return "paused"  # else buttons and messages would change twice within a moment
        if self._tried < len(self.engines) and status in ("completed", "failed"):
            return "stopped" if self._stopping.asked else "starting"
        return status

    @property
    def doing(self) -> str:
        run = self._current
        place = f" ({self._tried} of {len(self.engines)})" if len(self.engines) > 1 else ""
        if self._stopping.asked:
            starting = run.status == "starting"
            return self._stopping.text(name_of(run), starting)
        if (single_step := self._single_step) is not None and single_step.takes_long:
            return f"Taking one step of {name_of(run)}{place}."
        if self.status == "paused":
            return f"Paused {name_of(run)}{place}."
        if self._pausing:
            which = "next" if run.progress.done_steps else "first"
            return f"Pausing {name_of(run)}{place} before its {which} step."
        phase = f": {run.phase}" if run.status == "starting" else ""
        failed = {
            engine: f"{engine} failed: {each.error}"
            for engine, each in self.runs.items()
            if each.status == "failed"
        }
        told = "".join(f" {with_full_stop(why)}" for why in (self._refused | failed).values())
        return f"Training {name_of(run)}{place}{phase}.{told}"

    @property
    def outcome(self) -> str:
        outcome = outcome_of_training(self.engines, self.runs, self._refused)
        return f"{outcome} {NOT_COMPARABLE}" if self.caveat == BADGES["busy"] else outcome

    @property
    def failed(self) -> bool:
        return bool(self._refused) or any_failed(self.runs)

    @property
    def caveat(self) -> str:
        """What makes the result doubtful: throughputs of several engines will be compared, though
        they are not measured in turn."""
        if any(is_negative(run) for run in self.runs.values()):
            return "loss is negative"
        if len(self.runs) < 2 or self.status != "completed":
            return ""
        busy = any(run.step_results().disturbance for run in self.runs.values())
        return BADGES["busy"] if busy else ""

    def advance(self) -> None:
        """Start the next engine when the previous one has ended, even if it failed.

        One that cannot be started is reported by `outcome`; earlier ones keep their results.
        """
        with self._lock:
            # A stop is not followed by the pause after a step.
            if self._single_step is not None and (self._stopping.asked or self._single_step.over()):
                self._single_step = None
            self._pausing = self._pausing and self._current.status != "paused"
        if self._starting.acquire(blocking=False):  # else another page starts the next engine
            try:
                self._start_next()
            finally:
                self._starting.release()

    def _start_next(self) -> None:
        if self.status != "starting" or not self._current.ended:
            return
        engine = self.engines[self._tried]
        try:
            run = self._start(engine)
        except Exception as error:
            why = f"{engine} could not be started: {failure(error).message}"
            self._refused = {**self._refused, engine: why}
            return
        self._remember(run)
        forget_next_engines(self._current.folder)
        with self._lock:
            self.runs = {**self.runs, engine: run}
            if self._stopping.asked:  # by another page, while this one was started
                run.stop()
            elif self._pausing:  # the one before had ended when it was to pause
                run.pause()
        write_next_engines(run.folder, self.waiting)

    def pause(self) -> None:
        """Pause the run in progress, or the next one where it has ended."""
        with self._lock:
            self._pausing = True
            self._current.pause()

    def resume(self) -> None:
        with self._lock:
            self._pausing = False
            self._end_single_step()
            self._current.resume()

    def step_once(self) -> None:
        """Take one step and pause again."""
        with self._lock:
            if self._single_step is not None:
                self._single_step.one_more()
            elif self.status == "paused":
                self._pausing = False
                self._single_step = SingleStep(self._current)

    def stop(self) -> None:
        """Stop the run in progress; further engines are not started."""
        with self._lock:
            self._stopping.ask()
            self._current.stop()
            forget_next_engines(self._current.folder)

    def plot(self) -> Figure:
        runs = list(self.runs.values())
        return runs[0].plot() if len(runs) == 1 else plot_runs(self.runs)

    def _end_single_step(self) -> None:
        if self._single_step is not None and not self._stopping.asked:
            self._single_step.end()
        self._single_step = None

    @property
    def untrained(self) -> list[str]:
        """The engines that a stop has kept from their first step."""
        run = self._current
        first = run.status == "stopped" and not run.progress.done_steps
        return [*([list(self.runs)[-1]] if first else []), *self.waiting]

    @property
    def waiting(self) -> list[str]:
        """The engines that were not started."""
        return self.engines[self._tried :]

    @property
    def _tried(self) -> int:
        """Number of engines that were started, or could not be."""
        return len(self.runs) + len(self._refused)

    @property
    def _current(self) -> Run:
        return list(self.runs.values())[-1]
