"""Follows a job and shows it: points on the charts, its state in the message region."""

from __future__ import annotations

import time

from workbench.runs.reader import RunReader
from workbench.runs.run import ENDED
from workbench.widgets.charts import NOTHING_HINT, Charts
from workbench.widgets.job import Job
from workbench.widgets.status import Level, Status

LEVELS: dict[str, Level] = {
    "paused": "paused",
    "completed": "done",
    "stopped": "done",
    "interrupted": "done",
    "failed": "error",
    "unreadable": "error",
}


class Follower:
    """Reads what is new in the runs of one job, a few times a second, and shows it."""

    def __init__(self, job: Job, charts: Charts, status: Status, show_s: float = 0.0) -> None:
        """Follow a job.

        Args:
            job: what to follow.
            charts: shows its points.
            status: says what it is doing.
            show_s: seconds between two updates of what is shown, at least.
        """
        self.job = job
        self._show_s = show_s
        self._show_after = 0.0
        self._shown_status = ""
        self._charts = charts
        self._status = status
        self._readers: dict[str, RunReader] = {}
        self._done_steps: dict[str, int] = {}
        self._total_steps = 0
        self._epoch = 0
        self._started = time.monotonic()
        charts.reset(job.engines)

    def poll(self) -> str:
        """Show what is new; returns the status of the job."""
        self.job.advance()
        # The status first: what is written before the end is then read before the end is shown.
        status = self.job.status
        for engine, run in self.job.runs.items():
            if engine not in self._readers:
                self._readers[engine] = run.follow()
                self._total_steps = run.progress.total_steps
                self._charts.total_steps = self._total_steps
            points = self._readers[engine].poll()
            if len(points.step):
                self._done_steps[engine] = int(points.step[-1])
                self._epoch = int(points.epoch[-1])
            self._charts.add(engine, points)
        # A change of status is shown at once, whatever came last.
        if status != self._shown_status or time.monotonic() >= self._show_after:
            self._shown_status = status
            self._show_after = time.monotonic() + self._show_s
            self._show(status)
        return status

    def _show(self, status: str) -> None:
        self._charts.flush()
        if status in ENDED:
            self._charts.total_steps = max(self._done_steps.values(), default=0)
            self._charts.hint = NOTHING_HINT
            self._status.show(
                self._last_level(status), self.job.outcome, self._elapsed, self._share
            )
        else:
            where = self._elapsed if status == "starting" else self._where
            self._status.show(LEVELS.get(status, "busy"), self.job.doing, where, self._share)

    def _last_level(self, status: str) -> Level:
        if any(run.error is not None for run in self.job.runs.values()):
            return "error"
        if status == "stopped" and not self.job.runs:
            return "idle"  # nothing was begun, so nothing is done
        return LEVELS[status]

    @property
    def _share(self) -> float:
        total = self._total_steps * len(self.job.engines)
        return sum(self._done_steps.values()) / total if total else 0.0

    @property
    def _where(self) -> str:
        if not self._done_steps:
            return self._elapsed
        done = list(self._done_steps.values())[-1]
        return f"step {done:,} of {self._total_steps:,}, epoch {self._epoch}"

    @property
    def _elapsed(self) -> str:
        return f"{time.monotonic() - self._started:.0f} s"
