"""Resumes recorded runs, as far as was planned or further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.controller.recorded_runs.runs_view import RunsView
from workbench.errors import RunError
from workbench.models import Model
from workbench.runs import Run, resume
from workbench.runs.run_title import step_word


class RunResumption:
    """Its methods block until the worker is started."""

    def __init__(self, view: RunsView) -> None:
        """Start with no resumed run.

        Args:
            view: is notified of the result.
        """
        self.on_resume: Callable[[Run], str] = lambda _: ""
        """Called with a run that is resumed; returns what is done beside it, in sentences."""
        self.refusal: Callable[[Run], str] = lambda _: ""
        """Returns why a run cannot be resumed now; empty: it can."""
        self.model_for: Callable[[Run], Model | None] = lambda _: None
        """Returns the model that a run needs to be resumed, see `needs_model`; None: none."""
        self._view = view
        self._resumed: list[Run] = []

    def resume(self, run: Run) -> None:
        """Resume a run after a pause, or from its latest checkpoint."""
        self._check(run)
        if run.status == "paused":
            run.resume()
            self._show(run)
        else:
            self._show(resume(run, model=self.model_for(run)))

    def train_further(self, run: Run, total: int) -> None:
        """Resume a run that has ended from its latest checkpoint, to more steps than it has taken.

        Args:
            run: the run.
            total: steps, or rounds, in all.
        """
        self._check(run)
        taken, name = run.progress.done_steps, f"{step_word(run.spec)}s"
        if total <= taken:
            raise RunError(f"The run has taken {taken:,} {name}: give a larger total.")
        settings: dict[str, Any] = {name: total}
        self._show(resume(run, model=self.model_for(run), **settings))

    def _check(self, run: Run) -> None:
        if refusal := self.refusal(run):
            raise RunError(refusal)

    def _show(self, run: Run) -> None:
        # As long as it is known here, its worker is watched.
        self._resumed = [*(each for each in self._resumed if not each.ended), run]
        beside = self.on_resume(run)
        # It may have taken more steps by now.
        step = run.spec.get("resumed_from", run.progress.done_steps)
        outcome = f"Resumed {run.title} after {step_word(run.spec)} {step:,}. {beside}"
        self._view.show_outcome("done", outcome.rstrip())
