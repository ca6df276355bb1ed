"""The interface between a controller and its views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.artifacts.footprint import Estimate
from workbench.controller.engine_rows import EngineRows
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.jobs.job import Job
from workbench.controller.jobs.offered_runs import Offer
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.state import State
from workbench.controller.tasks.task import TaskState
from workbench.models import Model
from workbench.profiling import Profile
from workbench.run_folder.run_reader import NewPoints


class View:
    """Shows a controller; a subclass overrides what it shows.

    Called from the controller's threads; every method must return quickly.
    """

    def show_state(self, state: State) -> None:
        """The work in progress has changed, or points were added that can be drawn now."""

    def show_engines(self, rows: EngineRows) -> None:
        """The list of engines that can run here is known."""

    def show_model(self, model: Model | None, problem: str = "") -> None:
        """A model was loaded; None: no model is chosen, or it cannot be loaded, and why."""

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        """The layers of the model; None: not known, or not yet."""

    def show_verdict(self, verdict: str) -> None:
        """Whether ONNX Runtime can train the model, in sentences; empty: not known."""

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        """Show the dataset, and why the model cannot be trained on it; None: none is chosen, or it
        cannot be loaded, and why."""

    def show_prediction(
        self, prediction: ArtifactsWithFootprint | None, doing: str = "", problem: str = ""
    ) -> None:
        """Show what the artifacts contain and the resources for training them; `doing`: the current
        activity; `problem`: why there are none."""

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        """Show time and memory of each node of the artifacts; `doing`: the current activity;
        `problem`: why they are not known."""

    def show_task(self, name: str, state: TaskState) -> None:
        """Show the changed state of a task."""

    def show_estimate(self, estimate: Estimate) -> None:
        """Show the memory that is known before there are artifacts."""

    def show_offers(self, offers: Sequence[Offer]) -> None:
        """Recorded runs that can be followed or resumed, and interrupted comparisons."""

    def offer_accepted(self, job: Job) -> None:
        """A job that was offered is about to be followed; it has a run."""

    def job_started(self, job: Job) -> None:
        """A job is followed from now on; no point of it has been shown yet."""

    def show_total_steps(self, steps: int) -> None:
        """The steps of each run, planned or largest taken."""

    def add_points(self, engine: str, points: NewPoints) -> None:
        """New points of one engine; the next `show_state` may draw them."""

    def job_ended(self, job: Job) -> None:
        """The job has ended; its runs and figures are complete."""

    def job_failed(self) -> None:
        """A job could not be started, or not be followed any further."""


EVENTS = tuple(name for name in vars(View) if not name.startswith("_"))


class Views(View):
    """Several views of one controller, in the order in which they are notified."""

    def __init__(self, *views: View) -> None:
        self._views = list(views)
        for name in EVENTS:
            setattr(self, name, self._to_all(name))

    def add(self, *views: View) -> None:
        """Notify `views` too, from now on."""
        self._views.extend(views)

    def _to_all(self, name: str) -> Any:
        def notify(*values: Any, **named: Any) -> None:
            for view in self._views:
                getattr(view, name)(*values, **named)

        return notify
