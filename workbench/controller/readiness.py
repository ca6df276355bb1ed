"""The message of the page while no job is running."""

from __future__ import annotations

from collections.abc import Callable

from workbench.artifacts.footprint import Estimate
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.forms.typed_settings import TypedSettings, wrong_settings
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.models import Model
from workbench.profiling import Profile

CHOOSE = State("idle", "idle", "Choose a model to begin.")


class Readiness(View):
    """State while no job runs: other work in progress, what prevents training, or "ready"."""

    def __init__(self, show: Callable[[State], None], typed: TypedSettings) -> None:
        """Start with no model.

        Args:
            show: called with the state after each change.
            typed: settings whose problems are reported.
        """
        self.hint = "Press Train or Compare."
        """Instruction once everything is ready; empty where the view has no button for it."""
        self._show = show
        self._typed = typed
        self._model: Model | None = None
        self._wrong_model = self._wrong_data = self._wrong_artifacts = ""

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model, self._wrong_model, self._wrong_artifacts = model, problem, ""
        if model is None:
            self.tell()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._wrong_data = problem
        if preview is None and not problem and self._model is not None:
            self._wrong_data = f"{self._model.name} needs a dataset: choose one in the step Model."
        self.tell()

    def show_prediction(
        self, prediction: ArtifactsWithFootprint | None, doing: str = "", problem: str = ""
    ) -> None:
        self._wrong_artifacts = problem
        if self._model is None:
            return
        of = f"the artifacts of {self._model.name}"
        if doing:
            self._show(State("idle", "busy", f"Generating {of}: {doing} …"))
        elif prediction is not None:
            self._show(State("idle", "done", f"Generated {of}."))
        else:
            self.tell()

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        if self._model is None:
            return
        if doing:
            self._show(State("idle", "busy", f"Profiling {self._model.name}: {doing} …"))
        elif profile is not None:
            self._show(State("idle", "done", f"Profiled {self._model.name}."))
        else:
            self._show(State("idle", "error", problem))

    def show_estimate(self, estimate: Estimate) -> None:  # noqa: ARG002
        if self._wrong_artifacts:  # it is mended
            self._wrong_artifacts = ""
            self.tell()

    def tell(self) -> None:
        """Show what prevents training from starting, or that it can start."""
        wrong = self._wrong_model or self._wrong_data or self._wrong_artifacts
        if wrong:
            self._show(State("idle", "error", wrong))
        elif self._model is not None:
            labels = self._typed.wrong()
            ready = f"{self._model.name} is ready. {self.hint}".rstrip()
            if labels:
                says = "The field says" if len(labels) == 1 else "Each field says"
                ready = f"{wrong_settings(len(labels))}: {', '.join(labels)}. {says} why."
            self._show(State("idle", "idle", ready))
        else:
            self._show(CHOOSE)
