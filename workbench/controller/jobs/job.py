"""What every job has: training with one or more engines, or a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from workbench.models import Model
from workbench.runs import Run
from workbench.runs.record.contents import shapes_of, shapes_of_model, structure_of_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def ended_early(run: Run) -> bool:
    """Whether it failed, or was stopped or interrupted."""
    return run.error is not None or run.status in ("stopped", "interrupted")


def model_of(job: Job | None) -> str:
    """Name of the model that the runs of a job train; empty while there are none."""
    return next((str(run.spec["model"]) for run in job.runs.values()), "") if job else ""


def is_of(job: Job, model: Model) -> bool:
    """Whether a job that has runs trains this model."""
    return bool(job.runs) and trains(next(iter(job.runs.values())), model)


def trains(run: Run, model: Model) -> bool:
    """Whether a run trains this model: a cell may define another of the same name, with other
    inputs, outputs or layers."""
    same_structure = structure_of_model(run.folder) in ("", model.structure)
    same_shapes = shapes_of_model(run.folder) in ("", shapes_of(model))
    return str(run.spec["model"]) == model.name and same_shapes and same_structure


def is_part(run: Run, job: Job) -> bool:
    """Whether `run` is one of the runs that `job` has started or follows."""
    return any(each.id == run.id for each in job.runs.values())


def worker_pids(job: Job) -> list[int]:
    """Process ids whose families are the workers of a job in progress, whoever started them.

    A watchdog is known from the launch on, a worker of another process once it has started.
    """
    running = [run.watchdog_pid or run.worker_pid for run in job.runs.values() if not run.ended]
    return [pid for pid in running if pid is not None]


def any_failed(runs: dict[str, Run]) -> bool:
    return any(run.error is not None for run in runs.values())
