"""How often the page looks for changes of its list of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.controller.jobs.job import Job
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.widgets.app.app_bar import AppBar

BUSY_S = 10.0
"""Seconds between two polls while a job is in progress and the list is not in view."""


class RunListPace(View):
    """The list takes next to nothing from what is trained. It is refreshed at once when the status
    of the job changes and when it comes into view; there it is polled after each state of the job,
    so that both tell about the same step."""

    def __init__(self, bar: AppBar) -> None:
        """Begin with no job.

        Args:
            bar: knows the step that is shown.
        """
        self.refresh: Callable[[], None] = lambda: None
        """Polls for changes now."""
        self._bar = bar
        self._active, self._status = False, ""
        self._due = False
        """Whether there was a state since the last poll."""
        bar.observe(self._on_step, "selected")

    def __call__(self) -> float:
        """The least seconds between two polls now."""
        due, self._due = self._due, False
        return BUSY_S if self._active and not due else 0.0

    def show_state(self, state: State) -> None:
        self._active = state.active
        if state.status != self._status:
            self._status = state.status
            self.refresh()
        elif self._bar.selected == "runs":
            self._due = True

    def job_started(self, job: Job) -> None:
        self.refresh()

    def _on_step(self, change: Any) -> None:
        if change.new == "runs":
            self.refresh()
