"""What a run does and did, read from its folder."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from workbench.errors import RunFolderError
from workbench.files.advisory_lock import is_locked
from workbench.machine.load import Load
from workbench.run_folder.checkpoint import latest_checkpoint
from workbench.run_folder.results.step_results import StepResults
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.run_reader import NewPoints, RunReader
from workbench.runs.failure import ends_early, failure_cause
from workbench.runs.launch import Worker
from workbench.runs.record.activity import ENDED, Activity, Progress, Status
from workbench.runs.record.labelled_run import LabelledRun
from workbench.runs.record.recorded_run import RecordedRun
from workbench.runs.run_title import step_word
from workbench.settings.config import TrainingConfig, read_config


class ObservedRun(LabelledRun, RecordedRun):
    """Status and records of a run, without its control.

    Everything is read from the run folder, so any number of processes may observe the same run.
    """

    def __init__(self, folder: RunFolder, *, worker: Worker | None = None) -> None:
        """
        Args:
            folder: of the run.
            worker: the process that trains it, if this one started it.

        Raises:
            RunFolderError: its spec cannot be read.
        """
        self.folder = folder
        self.spec: dict[str, Any] = folder.read_spec()
        self.config: TrainingConfig = read_config(self.spec["config"])
        self._worker = worker
        self._activity = Activity(folder.events_path)
        self._last_summary: dict[str, Any] | None = None
        """As last read: what a run came to, and at which step, is known though its folder is gone
        since."""

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
        """Status, steps, evaluation and memory; None until the end, or if it cannot be read."""
        try:
            return self._read_summary()
        except RunFolderError:
            return None

    def _read_summary(self) -> dict[str, Any] | None:
        found = self.folder.read_summary()
        if found is None and not self.folder.path.exists():
            return self._last_summary
        if found is not None and self._last_summary is None and self._activity.done_steps:
            self._activity.now()  # of a run that was watched, its last steps
        self._last_summary = found
        return found

    @property
    def status(self) -> Status:
        try:
            summary = self._read_summary()
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
        """The current activity of the run, as a short text."""
        status = self.status
        return self._activity.phase if status == "starting" else status

    @property
    def progress(self) -> Progress:
        steps = self.config.total_steps(self.spec["samples"])
        return Progress(self._activity.now().done_steps, steps)

    @property
    def was_paused(self) -> bool:
        """Whether it was paused at some time."""
        return self._activity.now().was_paused

    @property
    def startup_s(self) -> float:
        """Seconds from launch to the end of the first step, without pauses; NaN before it."""
        activity = self._activity.now()
        end = activity.first_step_time or math.nan
        return end - activity.paused_before_s - float(self.spec.get("launched") or math.nan)

    @property
    def samples_per_s(self) -> float:
        """Throughput so far: the median over about twenty rounds of equal length after the warm-up,
        NaN within it. Of a run that was trained in a comparison, once that has ended, the one that
        it has found."""
        return self.step_results().samples_per_s

    @property
    def load(self) -> Load | None:
        """The load of other programs so far, after the warm-up; None: not known."""
        return self.step_results().load

    def step_results(self, points: NewPoints | None = None) -> StepResults:
        """What the steps have come to so far.

        Args:
            points: all that the log holds, where they have been read; None: they are read.
        """
        summary = self.summary
        recorded = StepResults.recorded(summary)
        if recorded is not None:
            return recorded
        found = RunReader(self.folder).poll() if points is None else points
        speed = (summary or {}).get("samples_per_s")  # of an older version
        return StepResults.of(found, self.config, speed)

    @property
    def reason(self) -> str:
        """Why it was interrupted, killed, stopped early or not resumed; else empty."""
        summary = self.summary or {}
        failed = summary.get("resume_error")
        resuming = f"It could not be resumed: {failed['message']}" if failed else ""
        return " ".join(filter(None, (summary.get("reason"), resuming)))

    @property
    def error(self) -> str | None:
        """Why the run failed or cannot be read; None otherwise."""
        cause = self._cause()
        return str(cause["message"]) if cause else None

    @property
    def skipped_events(self) -> int:
        """Number of invalid lines in the event log so far."""
        return self._activity.now().skipped_events

    @property
    def damage(self) -> str:
        """What is missing of its record, in a sentence; empty if nothing is."""
        activity = self._activity.now()
        path = self.folder.events_path
        skipped, missing = activity.skipped_events, activity.missing_steps
        recorded, taken = activity.done_steps, (self.summary or {}).get("steps") or 0
        if skipped == 1:
            return f"1 line of {path} cannot be read: what it recorded is missing."
        if skipped:
            return f"{skipped:,} lines of {path} cannot be read: what they recorded is missing."
        if missing:
            verb = "is" if missing == 1 else "are"
            return f"{path} is incomplete: {missing:,} of its steps {verb} missing."
        if recorded < taken:
            return ends_early(path, step_word(self.spec), recorded, taken)
        return ""

    @property
    def checkpoint(self) -> Path | None:
        """Folder of the latest complete checkpoint, or None."""
        return latest_checkpoint(self.folder)

    @property
    def has_worker(self) -> bool:
        """Whether the worker process that this object started is still alive."""
        return self._worker is not None and self._worker.poll() is None

    @property
    def watchdog_pid(self) -> int | None:
        """Process id of the watchdog, the worker's parent, if this object started it."""
        return self._worker.pid if self._worker is not None and self.has_worker else None

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker that was started last, by any process; None before."""
        return self._activity.now().worker_pid

    def waits_after(self, step: int) -> bool:
        """Whether the worker has taken `step` steps and waits until more are granted."""
        return self._activity.now().waits_after_step >= step

    def follow(self) -> RunReader:
        """A new incremental reader, for live views."""
        return RunReader(self.folder)

    def _cause(self) -> dict[str, str] | None:
        if not self.folder.path.exists() and self._last_summary is not None:
            failure: dict[str, str] | None = self._last_summary.get("error")
            return failure
        exit_status = self._worker.poll() if self._worker else None
        return failure_cause(self.folder, exit_status, self._is_lost, self.spec.get("launched"))

    def _is_lost(self) -> bool:
        """Whether the worker has exited without a summary."""
        # Another process, or `resume`, may have started a new worker since.
        exited = not self.has_worker and not is_locked(self.folder.watchdog_lock_path)
        # The summary is written before the watchdog exits.
        return exited and self.summary is None
