"""The five steps of the app, and the requirements of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from workbench.compare.verdict import BADGES
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job, model_of
from workbench.controller.jobs.outcome import diverged
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.model.sources import NEEDS_EXAMPLE, LossProblem, lacks_example
from workbench.controller.setup import Setup
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.models import Model
from workbench.runs.record.activity import ENDED
from workbench.runs.record.contents import shapes_of

StepState = Literal["needs", "ready", "busy", "done", "failed"]

WAITS = "waits for the model"

NO_DATA = "choose a dataset"
NOT_LOADED = "data not loaded"
DATA_UNFIT = "data do not fit"
LOSS_UNFIT = "loss does not fit"
DATA_NEEDS = {
    NO_DATA: "needs a dataset",
    NOT_LOADED: "needs a dataset",
    DATA_UNFIT: "needs data that fit",
    LOSS_UNFIT: "needs another loss",
}
"""Problems of the data in the step Model, and what the steps that train need."""

NAMES = ("model", "artifacts", "train", "compare", "runs")


class Step(NamedTuple):
    """One step."""

    name: str
    title: str
    state: StepState
    note: str
    """Current content, or what is missing, in a few words."""


class StepsView(View):
    """Derives the state of each step from the controller's updates."""

    def __init__(
        self, setup: Setup, typed: TypedSettings, show: Callable[[Sequence[Step]], None]
    ) -> None:
        """Start with nothing chosen.

        Args:
            setup: setup with the engines.
            typed: settings with their problems.
            show: called with all steps after every change.
        """
        self._setup = setup
        self._typed = typed
        self._show = show
        self._model: Model | None = None
        self._loading = False
        """Whether a model is being loaded: the one before is chosen no more."""
        self._model_problem = ""
        self._data_problem = ""
        self._generating = self._generated = False
        self._generated_with: dict[str, Any] = {}
        """The settings that the last artifacts were generated with."""
        self._ended: dict[str, str] = {}
        """How the last job of a step ended, in a few words."""
        self._failed: dict[str, bool] = {}
        self._caveat = ""
        """That of the last job to end, see `State`."""
        self._running = self._last = self._forgotten = ""
        self._paused = False
        self.recorded = ""
        """What the step Compare shows that was recorded; empty: nothing."""
        typed.observe(self.update)

    def update(self) -> None:
        """Show the current state of the steps."""
        self._show(self.steps())

    def show_recorded(self, what: str) -> None:
        """This is shown in the step Compare, until the next comparison; empty: no longer."""
        self.recorded = what
        self.update()

    def steps(self) -> list[Step]:
        """All five, in order."""
        return [
            self._of_model(),
            self._of_artifacts(),
            self._of("train"),
            self._of("compare"),
            Step("runs", "Runs", "ready", "recorded runs"),
        ]

    def show_state(self, state: State) -> None:
        if state.status in ENDED:
            self._caveat = state.caveat
        in_progress = state.active and state.status not in ENDED
        running = ("compare" if state.compares else "train") if in_progress else ""
        paused = state.status == "paused"
        if running != self._running:
            self.recorded = "" if running == "compare" else self.recorded
        if (running, paused) != (self._running, self._paused):
            self._running, self._paused = running, paused
            self.update()

    def show_model(self, model: Model | None, problem: str = "") -> None:
        before = self._model
        same = model is not None and before is not None and _is_same(model, before)
        self._model, self._model_problem, self._loading = model, problem, False
        self._generating = self._generated = False
        if not same:  # else its results stay in view
            self._ended, self._forgotten = {}, ""
        self.update()

    def show_layers(
        self,
        rows: Sequence[LayerRow] | None,
        *,
        loading: bool = False,
    ) -> None:
        if loading and not self._loading:
            self._loading = True
            self.update()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._data_problem = ""
        if problem:
            unfit = LOSS_UNFIT if isinstance(problem, LossProblem) else DATA_UNFIT
            self._data_problem = NOT_LOADED if preview is None else unfit
        if preview is None and not problem and self._model is not None:
            self._data_problem = NO_DATA
        self.update()

    def show_prediction(
        self, prediction: ArtifactsWithFootprint | None, doing: str = "", problem: str = ""
    ) -> None:
        if doing and self._generating:
            return
        self._generating = bool(doing)
        if doing:
            self._generated_with = self._setup.artifact_settings()
        else:
            self._generated = prediction is not None
        self.update()

    def job_ended(self, job: Job) -> None:
        self._forgotten = ""
        self._last = step = "compare" if isinstance(job, ComparisonJob) else "train"
        # The step is yet to do where another model is chosen; a job without a run names none.
        if self._model is None or model_of(job) in ("", self._model.name):
            no_loss = any(diverged(run) for run in job.runs.values())
            self._failed[step] = job.failed or no_loss
            # What a training is for is done on a busy machine too: its throughputs say so.
            of_load = step == "train" and self._caveat == job.caveat == BADGES["busy"]
            caveat = "" if of_load else self._caveat
            ended = "loss not finite" if no_loss else caveat or job.status
            self._ended[step] = "failed" if job.failed else ended
        self._running = ""  # now, though the figures of the job are yet to be made
        self.update()

    def forget_ended(self) -> None:
        """The runs of the last job were deleted: its step is yet to do."""
        self._forgotten = self._ended.pop(self._last, "")
        self.update()

    def bring_back_ended(self) -> None:
        """Its runs were restored."""
        if self._forgotten:
            self._ended.setdefault(self._last, self._forgotten)
        self.update()

    def _of_model(self) -> Step:
        if self._loading:
            return Step("model", "Model", "busy", "loading")
        if self._model is None:
            refused = "cannot be loaded" if self._model_problem else "choose a model"
            needed = NEEDS_EXAMPLE if lacks_example(self._model_problem) else refused
            return Step("model", "Model", "needs", needed)
        of_train = self._data_problem == LOSS_UNFIT and self._typed.texts.get("loss")
        if self._data_problem and not of_train:
            return Step("model", "Model", "needs", self._data_problem)
        return Step("model", "Model", "done", self._model.name)

    @property
    def _needed(self) -> str:
        """What the steps after Model need while there is no model."""
        return NEEDS_EXAMPLE if lacks_example(self._model_problem) else "needs a model"

    def _of_artifacts(self) -> Step:
        if self._loading or self._model is None:
            needed = WAITS if self._loading else self._needed
            return Step("artifacts", "Artifacts", "needs", needed)
        if self._generating:
            return Step("artifacts", "Artifacts", "busy", "in progress")
        if wrong := self._typed.wrong("artifacts"):
            return Step("artifacts", "Artifacts", "needs", wrong_settings_text(len(wrong)))
        if self._generated:
            if self._generated_with != self._setup.artifact_settings():
                return Step("artifacts", "Artifacts", "ready", "outdated")
            return Step("artifacts", "Artifacts", "done", "generated")
        return Step("artifacts", "Artifacts", "ready", "optional")

    def _of(self, name: str) -> Step:
        title = name.capitalize()
        if self._running == name:
            return Step(name, title, "busy", "paused" if self._paused else "in progress")
        if name == "compare" and self.recorded and not self._typed.wrong(name):
            return Step(name, title, "ready", self.recorded)
        lack = self._lack(name)
        if lack:
            return Step(name, title, "needs", lack)
        if ended := self._ended.get(name, ""):  # once: another thread may forget it
            done: StepState = "done" if ended == "completed" else "ready"
            return Step(name, title, "failed" if self._failed[name] else done, ended)
        return Step(name, title, "ready", "ready")

    def _lack(self, step: str) -> str:
        if self._loading:
            return WAITS
        if self._model is None:
            return self._needed
        if self._data_problem:
            return DATA_NEEDS[self._data_problem]
        needs_engine = step == "compare" or self._setup.federation is None
        if needs_engine and not self._setup.engines:
            return "needs an engine"
        wrong = self._typed.wrong(step)
        return wrong_settings_text(len(wrong)) if wrong else ""


def wrong_settings_text(count: int) -> str:
    return f"{count} wrong setting{'' if count == 1 else 's'}"


def _is_same(model: Model, before: Model) -> bool:
    """Whether results of the model before are those of this one: it was read anew, say, and a cell
    has not defined another of the same name."""
    same_structure = model.structure == before.structure
    return model.name == before.name and shapes_of(model) == shapes_of(before) and same_structure
