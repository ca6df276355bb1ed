"""One run, seen from outside: what it is doing, what it recorded, and how to steer it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.child_process.worker_end import describe_death
from workbench.errors import RunError, RunFolderError
from workbench.files.folder_lock import is_held
from workbench.models import Model, load_model
from workbench.progress import ProgressBar
from workbench.run_folder.checkpoint import is_whole, read_weights
from workbench.run_folder.control import Wish, want
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.statistics import Statistics, read_statistics
from workbench.runs.activity import Activity, Status
from workbench.runs.export import export_saved
from workbench.runs.history import evaluations_frame, history_frame
from workbench.runs.launch import Worker
from workbench.runs.reader import RunReader
from workbench.settings.config import TrainingConfig, read_config

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ENDED: frozenset[Status] = frozenset(
    {"completed", "stopped", "interrupted", "failed", "unreadable"}
)

WAIT_POLL_S = 0.05


class Progress(NamedTuple):
    """How far a run is, in optimizer steps."""

    done_steps: int
    total_steps: int


class Run:
    """A training run. Made by `train`, or from its folder by `load_run`.

    Everything is read from the run folder, so any number of watchers may look at the same run.
    """

    def __init__(
        self, folder: RunFolder, *, worker: Worker | None = None, model: Model | None = None
    ) -> None:
        self.folder = folder
        self.spec: dict[str, Any] = folder.read_spec()
        self.config: TrainingConfig = read_config(self.spec["config"])
        self._worker = worker
        self._model = model
        self._activity = Activity(folder.events_path)

    def __repr__(self) -> str:
        done, total = self.progress
        return f"<Run {self.id}: {self.status}, step {done} of {total}>"

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def engine(self) -> str:
        return self.config.engine

    @property
    def summary(self) -> dict[str, Any] | None:
        """What the run came to: status, steps, evaluation, memory.

        None until it has ended, and where it cannot be read: `error` says why.
        """
        try:
            return self.folder.read_summary()
        except RunFolderError:
            return None

    @property
    def status(self) -> Status:
        """Where the run is in its life."""
        try:
            summary = self.folder.read_summary()
        except RunFolderError:
            return "unreadable"
        if summary is not None:
            status: Status = summary["status"]
            return status
        if self._is_lost():
            return "failed"
        return self._activity.now().state

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def phase(self) -> str:
        """What the run is doing, in a few words, for people who wait."""
        status = self.status
        return self._activity.phase if status == "starting" else status

    @property
    def progress(self) -> Progress:
        config = self.config
        steps = config.steps or config.epochs * (self.spec["samples"] // config.batch_size)
        return Progress(self._activity.now().done_steps, steps)

    @property
    def startup_s(self) -> float:
        """Seconds from launch to the end of the first step; NaN before it."""
        ended = self._activity.now().first_step_time
        return float("nan") if ended is None else ended - float(self.spec.get("launched") or "nan")

    @property
    def reason(self) -> str:
        """Why the run was interrupted or had to be killed when it was stopped; else empty."""
        return str((self.summary or {}).get("reason") or "")

    @property
    def error(self) -> str | None:
        """Why the run failed or cannot be read, in a sentence or two; None unless that is so."""
        cause = self._cause()
        return str(cause["message"]) if cause else None

    @property
    def history(self) -> pd.DataFrame:
        """One row a step: step, epoch, loss, seconds, samples_per_s, rss_bytes."""
        return history_frame(RunReader(self.folder).poll())

    @property
    def evaluations(self) -> pd.DataFrame:
        """One row an evaluation of the test split: step, epoch, loss, accuracy."""
        return evaluations_frame(RunReader(self.folder).poll())

    @property
    def statistics(self) -> Statistics | None:
        """What the engine did to train; None until the run has ended, or where there is nothing."""
        return read_statistics((self.summary or {}).get("statistics"))

    @property
    def skipped_events(self) -> int:
        """Lines of the record so far that hold no event as the workbench writes it."""
        return self._activity.now().skipped_events

    @property
    def checkpoint(self) -> Path | None:
        """Folder of the newest good checkpoint, or None when there is none yet."""
        return next(filter(is_whole, reversed(self.folder.checkpoints())), None)

    @property
    def has_worker(self) -> bool:
        """Whether the worker that this object started still exists, if only to end."""
        return self._worker is not None and self._worker.poll() is None

    @property
    def watchdog_pid(self) -> int | None:
        """Process id of the parent of the worker that this object started, while it exists.

        The worker is its child: who asks for the load of the run asks for the children's too.
        """
        return self._worker.pid if self._worker is not None and self.has_worker else None

    def waits_after(self, step: int) -> bool:
        """Whether the worker has taken `step` steps and does nothing until it is granted more."""
        return self._activity.now().waits_after_step >= step

    def follow(self) -> RunReader:
        """A reader of its own that gives only what is new at each poll, for live views."""
        return RunReader(self.folder)

    def pause(self) -> None:
        """Pause before the next step."""
        self._want("pause")

    def resume(self) -> None:
        """Go on after a pause."""
        self._want("run")

    def stop(self) -> None:
        """Stop before the next step; checkpoint and summary are written."""
        self._want("stop")

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run has ended.

        Args:
            timeout: seconds to wait at most; None: as long as it takes.

        Raises:
            RunError: the run failed, or its summary is damaged.
            TimeoutError: it has not ended in time; it goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with ProgressBar() as bar:
            while not self.ended:
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError(f"Run {self.id} goes on after {timeout:g} s.")
                bar.show(*self.progress, f"{self.engine}: {self.phase}")
                time.sleep(WAIT_POLL_S)
        cause = self._cause()
        if cause:
            trace = f"\n\n{cause['traceback'].strip()}" if cause["traceback"] else ""
            raise RunError(
                f"{self.engine} failed after step {self.progress.done_steps}: {cause['message']}\n"
                f"Log: {self.folder.log_path}{trace}"
            )
        return self

    def weights(self) -> dict[str, Any]:
        """Parameters and buffers of the newest good checkpoint, by name, as numpy arrays.

        Raises:
            RunError: the run has written no checkpoint.
        """
        checkpoint = self.checkpoint
        if checkpoint is None:
            raise RunError(f"Run {self.id} has written no checkpoint yet.")
        return read_weights(checkpoint)

    def export(self, path: str | Path, model: Model | str | Path | None = None) -> Path:
        """Write the trained model as ONNX for inference, weights of the newest good checkpoint.

        What the run folder names is never run. A model of your own, an `nn.Module` or a factory, is
        exported from where `train` returned the run, from what on-device training has exported
        already, or as the `model` that is given.

        Args:
            path: the file to write; its folder is made when it is missing.
            model: what was trained: a `Model`, or what `load_model` takes.

        Raises:
            RunError: the run has written no checkpoint, or the file cannot be written.
            ModelError: only code of your own builds the model, and no `model` is given; or the
                weights do not fit it.
        """
        weights = self.weights()
        given = model if isinstance(model, Model | None) else load_model(model)
        known = given or self._model
        if known is not None:
            return known.export(Path(path), weights=weights, complete=True)
        return export_saved(self.folder, Path(path), weights)

    def plot(self) -> Figure:
        """Loss, throughput and memory of the run as a static figure."""
        from workbench.runs.figure import plot_run

        return plot_run(self)

    def _want(self, state: Wish) -> None:
        if not self.ended:
            want(self.folder.control_path, state)

    def _cause(self) -> dict[str, str] | None:
        try:
            summary = self.folder.read_summary()
        except RunFolderError as error:
            return {"type": type(error).__name__, "message": str(error), "traceback": ""}
        if summary is not None:
            cause: dict[str, str] | None = summary.get("error")
            return cause
        if self._is_lost():
            status = self._worker.poll() if self._worker else None
            if not self.folder.spec_path.exists():
                message = f"Its folder {self.folder.path} was removed while it trained."
                return {"type": "Removed", "message": message, "traceback": ""}
            if status is not None:
                return describe_death(self.folder.log_path, status)
            return {"type": "Lost", "message": "Its worker is gone.", "traceback": ""}
        return None

    def _is_lost(self) -> bool:
        """Whether the worker is gone and no summary tells how."""
        if self._worker is not None:
            gone = self._worker.poll() is not None
        else:
            gone = not is_held(self.folder.watchdog_lock_path)
        # The summary is written before the watchdog ends.
        return gone and self.summary is None
