"""How often the page looks for changes of its list of runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from workbench.controller.jobs.job import Job
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.widgets.app.app_bar import AppBar

BUSY_S = 5.0
"""Seconds between two polls while a job is in progress."""
SEEN_S = 0.5
"""Least seconds between two that follow the states of the job, while the list is in view."""


class RunListPace(View):
    """The list takes next to nothing from what is trained. When the status of the job changes it is
    refreshed at once, and in view with the states of the job: both tell the same step."""

    def __init__(self, bar: AppBar) -> None:
        """Begin with no job.

        Args:
            bar: knows the step that is shown.
        """
        self.refresh: Callable[[], None] = lambda: None
        """Polls for changes now."""
        self._bar = bar
        self._active, self._status = False, ""
        self._refreshed_at = -math.inf

    def __call__(self) -> float:
        """The least seconds between two polls now."""
        return BUSY_S if self._active else 0.0

    def show_state(self, state: State) -> None:
        self._active = state.active
        now, seen = time.monotonic(), self._active and self._bar.selected == "runs"
        if state.status != self._status or (seen and now >= self._refreshed_at + SEEN_S):
            self._status, self._refreshed_at = state.status, now
            self.refresh()

    def job_started(self, job: Job) -> None:
        self.refresh()
