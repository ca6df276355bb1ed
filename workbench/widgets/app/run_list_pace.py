"""How often the page looks for changes of its list of runs."""

from __future__ import annotations

from collections.abc import Callable

from workbench.controller.jobs.job import Job
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.widgets.app.app_bar import AppBar

UNSEEN_S = 5.0
"""Seconds between two polls while a job is in progress and another step is shown."""


class RunListPace(View):
    """A list that is not in view takes next to nothing from what is trained; when the status of the
    job changes it is refreshed at once."""

    def __init__(self, bar: AppBar) -> None:
        """Begin with no job.

        Args:
            bar: knows the step that is shown.
        """
        self.refresh: Callable[[], None] = lambda: None
        """Polls for changes now."""
        self._bar = bar
        self._active, self._status = False, ""

    def __call__(self) -> float:
        """The least seconds between two polls now."""
        return UNSEEN_S if self._active and self._bar.selected != "runs" else 0.0

    def show_state(self, state: State) -> None:
        self._active = state.active
        if state.status != self._status:
            self._status = state.status
            self.refresh()

    def job_started(self, job: Job) -> None:
        self.refresh()
