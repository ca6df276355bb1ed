"""Jobs: training with one or more engines, or a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from workbench.compare import Comparison
from workbench.controller.jobs.outcome import listed, name_of, outcome_of, outcome_of_training
from workbench.controller.jobs.single_step import SingleStep
from workbench.controller.jobs.stopping import Stopping
from workbench.controller.state import failure
from workbench.runs import Run
from workbench.runs.figures.figure import plot_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WAIT_FOR_QUIET = "“Wait for idle machine (s)” lets Compare wait for a quiet one."


class Job(Protocol):
    """A job in progress. Every member returns immediately."""

    @property
    def id(self) -> str: ...
    @property
    def engines(self) -> Sequence[str]: ...
    @property
    def runs(self) -> dict[str, Run]:
        """The runs started so far, by engine."""
        ...

    @property
    def status(self) -> str:
        """One of `Run.status`."""
        ...

    @property
    def doing(self) -> str:
        """The current activity, as the beginning of a sentence."""
        ...

    @property
    def outcome(self) -> str:
        """Its result, in sentences."""
        ...

    @property
    def failed(self) -> bool:
        """Whether an engine failed, or could not be started."""
        ...

    @property
    def caveat(self) -> str:
        """Why figures of a completed job must not be trusted, in a few words; empty: they can."""
        ...

    def advance(self) -> None:
        """Start the next run, if there is one."""
        ...

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def step_once(self) -> None: ...
    def stop(self) -> None: ...
    def plot(self) -> Figure: ...


class Training:
    """Trains with one engine after another; in parallel they would slow each other down."""

    def __init__(self, start: Callable[[str], Run], engines: Sequence[str]) -> None:
        """Start the first engine.

        Args:
            start: starts the run of an engine.
            engines: in the order in which they train; at least one.
        """
        self._start = start
        self._stopping = Stopping()
        self._single_step: SingleStep | None = None
        self._pausing = False
        """Whether it was asked to pause, and has not yet."""
        self._refused: dict[str, str] = {}
        """Why an engine could not be started, by name."""
        self.engines = list(engines)
        self.runs = {self.engines[0]: start(self.engines[0])}

    @classmethod
    def of(cls, run: Run) -> Training:
        """A job for the single `run`, started by any process."""
        return cls(lambda _: run, [run.engine])

    @property
    def id(self) -> str:
        return self._current.id

    @property
    def status(self) -> str:
        """That of the run in progress; between two runs, `starting`."""
        status = self._current.status
        if self._single_step is not None and status == "running":
            return "paused"  # else buttons and messages would change twice within a moment
        waiting = self._tried < len(self.engines) and not self._stopping.asked
        return "starting" if waiting and status in ("completed", "failed") else status

    @property
    def doing(self) -> str:
        run = self._current
        place = f" ({self._tried} of {len(self.engines)})" if len(self.engines) > 1 else ""
        if self._stopping.asked:
            starting = run.status == "starting"
            return self._stopping.text(name_of(run), bool(run.spec.get("detached")), starting)
        if self._single_step is not None and self._single_step.takes_long:
            return f"Taking one step of {name_of(run)}{place}."
        if self.status == "paused":
            return f"Paused {name_of(run)}{place}."
        if self._pausing:
            which = "next" if run.progress.done_steps else "first"
            return f"Pausing {name_of(run)}{place} before its {which} step."
        phase = f": {run.phase}" if run.status == "starting" else ""
        return f"Training {name_of(run)}{place}{phase}."

    @property
    def outcome(self) -> str:
        return outcome_of_training(self.engines, self.runs, self._refused)

    @property
    def failed(self) -> bool:
        return bool(self._refused) or _any_failed(self.runs)

    caveat = ""
    """Engines that train one after another are not compared."""

    def advance(self) -> None:
        """Start the next engine when the previous one has ended, even if it failed.

        One that cannot be started is reported by `outcome`; earlier ones keep their results.
        """
        # A stop is not followed by the pause after a step.
        if self._single_step is not None and (self._stopping.asked or self._single_step.over()):
            self._single_step = None
        self._pausing = self._pausing and self._current.status != "paused"
        if self.status != "starting" or not self._current.ended:
            return
        engine = self.engines[self._tried]
        try:
            self.runs = {**self.runs, engine: self._start(engine)}
        except Exception as error:
            why = f"{engine} could not be started: {failure(error).message}"
            self._refused = {**self._refused, engine: why}
            return
        if self._pausing:  # the one before had ended when it was to pause
            self._current.pause()

    def pause(self) -> None:
        """Pause the run in progress, or the next one where it has ended."""
        self._pausing = True
        self._current.pause()

    def resume(self) -> None:
        self._pausing = False
        self._end_single_step()
        self._current.resume()

    def step_once(self) -> None:
        """Take one step and pause again."""
        if self._single_step is not None:
            self._single_step.one_more()
        elif self.status == "paused":
            self._single_step = SingleStep(self._current)

    def stop(self) -> None:
        """Stop the run in progress; further engines are not started."""
        self._stopping.ask()
        self._current.stop()

    def plot(self) -> Figure:
        runs = list(self.runs.values())
        return runs[0].plot() if len(runs) == 1 else plot_runs(self.runs)

    def _end_single_step(self) -> None:
        if self._single_step is not None and not self._stopping.asked:
            self._single_step.end()
        self._single_step = None

    @property
    def _tried(self) -> int:
        """Number of engines that were started, or could not be."""
        return len(self.runs) + len(self._refused)

    @property
    def _current(self) -> Run:
        return list(self.runs.values())[-1]


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

    @property
    def runs(self) -> dict[str, Run]:
        return self.comparison.runs

    @property
    def status(self) -> str:
        return self.comparison.status

    @property
    def doing(self) -> str:
        failed = {engine: run for engine, run in self.runs.items() if run.error is not None}
        engines = listed([each for each in self.engines if each not in failed] or self.engines)
        if self._stopping.asked:
            return self._stopping.text(f"the comparison of {engines}")
        phase = self.comparison.phase
        if phase == "paused":
            return f"Paused the comparison of {engines}."
        count = "1 engine" if len(self.engines) == 1 else f"{len(self.engines)} engines"
        # What is done beside steps is worth the room of their names.
        comparing = f"Comparing {engines if phase == 'running' else f'{count}; {phase}'}."
        return "\n".join([comparing, *map(outcome_of, failed.values())])

    @property
    def outcome(self) -> str:
        runs = self.runs
        if self.comparison.error:
            return self.comparison.error
        if not runs:
            return "Stopped before any engine had started."
        failed = [engine for engine, run in runs.items() if run.error is not None]
        ended = [engine for engine in runs if engine not in failed]
        early = self.status in ("stopped", "interrupted")
        verb = f"{self.status.capitalize()} the comparison of" if early else "Compared"
        lines = [f"{verb} {listed(ended)} on {model_of(self)}."] if ended else []
        lines += [f"{self.comparison.warning} {WAIT_FOR_QUIET}"] if self.caveat else []
        return "\n".join([*lines, *(outcome_of(runs[engine]) for engine in failed)])

    @property
    def failed(self) -> bool:
        return self.status == "failed" or _any_failed(self.runs)

    @property
    def caveat(self) -> str:
        completed = self.status == "completed"
        return "machine was busy" if completed and self.comparison.warning else ""

    def stop(self) -> None:
        self._stopping.ask()
        self.comparison.stop()

    def step_once(self) -> None:
        """No effect: the engines of a comparison step in turn, by bursts."""

    def advance(self) -> None:
        """Nothing to do: a comparison starts its engines itself."""


def model_of(job: Job | None) -> str:
    """Name of the model that the runs of a job train; empty while there are none."""
    return next((str(run.spec["model"]) for run in job.runs.values()), "") if job else ""


def is_part(run: Run, job: Job) -> bool:
    """Whether `run` is one of the runs that `job` has started or follows."""
    return any(each.id == run.id for each in job.runs.values())


def worker_pids(job: Job) -> list[int]:
    """Process ids whose families are the workers of a job in progress, whoever started them.

    A watchdog is known from the launch on, a worker of another process once it has started.
    """
    running = [run.watchdog_pid or run.worker_pid for run in job.runs.values() if not run.ended]
    return [pid for pid in running if pid is not None]


def _any_failed(runs: dict[str, Run]) -> bool:
    return any(run.error is not None for run in runs.values())
