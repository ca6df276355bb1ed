"""One run, seen from outside: what it is doing, what it recorded, and how to steer it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from filelock import FileLock, Timeout

from workbench.checkpoint import read_weights
from workbench.config import TrainingConfig
from workbench.control import Wish, want
from workbench.errors import RunError
from workbench.events import Event, EventReader
from workbench.models import Model, load_saved
from workbench.progress import ProgressBar
from workbench.run_folder import RunFolder
from workbench.runs.history import evaluations_frame, history_frame
from workbench.runs.launch import Worker, describe_death, spec_config
from workbench.runs.reader import RunReader
from workbench.statistics import Statistics, read_statistics

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Status = Literal["starting", "running", "paused", "completed", "stopped", "failed"]

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
        self._worker = worker
        self._model = model
        self._events = EventReader(folder.events_path)
        self._reading = threading.Lock()
        self._state: Status = "starting"
        self._phase = "starting the worker"
        self._done_steps = 0
        self._waits_after_step = -1
        self._first_step_time: float | None = None

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
    def config(self) -> TrainingConfig:
        return spec_config(self.spec)

    @property
    def summary(self) -> dict[str, Any] | None:
        """What the run came to: status, steps, evaluation, memory; None until it has ended."""
        return self.folder.read_summary()

    @property
    def status(self) -> Status:
        """Where the run is in its life."""
        summary = self.summary
        if summary is not None:
            status: Status = summary["status"]
            return status
        if self._is_lost():
            return "failed"
        self._catch_up()
        return self._state

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "stopped", "failed")

    @property
    def phase(self) -> str:
        """What the run is doing, in a few words, for people who wait."""
        status = self.status
        return self._phase if status == "starting" else status

    @property
    def progress(self) -> Progress:
        self._catch_up()
        config = self.config
        steps = config.steps or config.epochs * (self.spec["samples"] // config.batch_size)
        return Progress(self._done_steps, steps)

    @property
    def startup_s(self) -> float:
        """Seconds from launch to the end of the first step; NaN before it."""
        self._catch_up()
        if self._first_step_time is None:
            return float("nan")
        return self._first_step_time - float(self.spec["launched"])

    @property
    def error(self) -> str | None:
        """Why the run failed, in a sentence or two; None unless it did."""
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
    def checkpoint(self) -> Path | None:
        """Folder of the newest good checkpoint, or None when there is none yet."""
        checkpoints = self.folder.checkpoints()
        return checkpoints[-1] if checkpoints else None

    @property
    def has_worker(self) -> bool:
        """Whether the worker that this object started still exists, if only to end."""
        return self._worker is not None and self._worker.poll() is None

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker while it exists."""
        return self._worker.pid if self._worker is not None and self.has_worker else None

    def waits_after(self, step: int) -> bool:
        """Whether the worker has taken `step` steps and does nothing until it is granted more."""
        self._catch_up()
        return self._waits_after_step >= step

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
            RunError: the run failed.
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
        if self.checkpoint is None:
            raise RunError(f"Run {self.id} has written no checkpoint yet.")
        return read_weights(self.checkpoint)

    def export(self, path: str | Path) -> Path:
        """Write the trained model as ONNX for inference, weights of the newest good checkpoint.

        Args:
            path: the file to write; its folder is made when it is missing.
        """
        weights = self.weights()
        model = self._model or load_saved(self.folder.model_path)
        return model.export(Path(path), weights=weights)

    def plot(self) -> Figure:
        """Loss, throughput and memory of the run as a static figure."""
        from workbench.figures import plot_run

        return plot_run(self)

    def _want(self, state: Wish) -> None:
        if not self.ended:
            want(self.folder.control_path, state)

    def _catch_up(self) -> None:
        # Several threads may look at one run: that of a cell that waits, of a lock step, of a page.
        with self._reading:
            for event in self._events.poll():
                self._take_in(event)

    def _take_in(self, event: Event) -> None:
        match event["event"]:
            case "phase":
                self._phase = event["text"]
            case "built" | "resumed":
                self._state = "running"
            case "paused":
                self._state = "paused"
            case "waiting":
                self._waits_after_step = event["step"]
            case "steps":
                self._done_steps = event["first_step"] + len(event["losses"]) - 1
                # The first step is written as soon as it is done.
                self._first_step_time = self._first_step_time or event["time"]

    def _cause(self) -> dict[str, str] | None:
        summary = self.summary
        if summary is not None:
            cause: dict[str, str] | None = summary.get("error")
            return cause
        if self._is_lost():
            status = self._worker.poll() if self._worker else None
            if status is not None:
                return describe_death(self.folder, status)
            return {"type": "Lost", "message": "Its worker is gone.", "traceback": ""}
        return None

    def _is_lost(self) -> bool:
        """Whether the worker is gone and no summary tells how."""
        if self._worker is not None:
            return self._worker.poll() is not None and not self._summary_appears()
        if not self.folder.lock_path.exists():
            return False
        try:
            FileLock(self.folder.lock_path, timeout=0).acquire().lock.release()
        except Timeout:
            return False
        return self.summary is None

    def _summary_appears(self) -> bool:
        # The thread that waits for the worker may be about to write the summary of its death.
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            if self.folder.summary_path.exists():
                return True
            time.sleep(0.01)
        return False
