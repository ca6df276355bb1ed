"""The message of the page while no job is running."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.artifacts.footprint import Estimate
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.jobs.offered_runs import Offer
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.model.sources import LossProblem, lacks_example
from workbench.controller.state import Level, State
from workbench.controller.tasks import TASKS
from workbench.controller.tasks.task import TaskState
from workbench.controller.view import View
from workbench.errors import shortened_problem
from workbench.models import Model
from workbench.profiling import Profile
from workbench.profiling.engine_profile import doubt_sentence

CHOOSE = State("idle", "idle", "Choose a model to begin.")

PRESS_EITHER = "Press Train or Compare."
CHOOSE_DATASET = "choose one in the step Model."


def no_dataset(model: Model, remedy: str) -> str:
    """The message while `model` has no dataset; empty without a remedy: none is needed."""
    return f"{model.name} needs a dataset: {remedy}" if remedy else ""


def loading_text(source: str) -> str:
    """The message while `source` is loaded, shortened if it is long."""
    return shortened_problem(f"Loading {source} …")


class Readiness(View):
    """State while no job runs: other work in progress, what prevents training, or "ready"."""

    def __init__(
        self,
        show: Callable[[State], None],
        typed: TypedSettings,
        has_result: Callable[[], bool] = lambda: False,
        forget_refusal: Callable[[], None] = lambda: None,
    ) -> None:
        """Start with no model.

        Args:
            show: called with the state after each change.
            typed: settings whose problems are reported.
            has_result: returns whether the result of a job is shown.
            forget_refusal: called when what was offered, and may have been refused, is offered
                otherwise.
        """
        self._has_result = has_result
        self._forget_refusal = forget_refusal
        self._offered: list[str] = []
        self.choose = CHOOSE
        """State while no model is chosen."""
        self.hint = PRESS_EITHER
        """Instruction once everything is ready; empty where the view has no button for it."""
        self.dataset_remedy = CHOOSE_DATASET
        """What to do about a dataset that is missing; empty: none is needed."""
        self.loading = ""
        """Source of the model that is being loaded; empty: none is."""
        self._show = show
        self._typed = typed
        self._model: Model | None = None
        self._wrong_model = self._wrong_data = self._wrong_artifacts = ""
        self._lacking_data = ""
        """That a model has no dataset yet, in a sentence, which is no error."""
        self._task = ""
        """Progress of a task that measures, in a sentence; empty: none does."""
        self._profiling = ""
        """Progress of a profile, in a sentence; empty: there is none in progress."""
        self._generating = ""
        """Progress of the artifacts that are being generated, in a sentence; empty: none are."""

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._model, self._wrong_model, self._wrong_artifacts = model, problem, ""
        self.loading = self._generating = ""
        self._typed.know(None)
        if model is None:
            self.update()

    def show_layers(
        self,
        rows: Sequence[LayerRow] | None,
        *,
        loading: bool = False,  # noqa: ARG002
    ) -> None:
        """The parameters are known with the layers: reading them earlier would build the model."""
        if rows is not None:
            self._typed.know(self._model)

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._wrong_data = problem
        if preview is None and not problem and self._model is not None:
            self._wrong_data = self._lacking_data = no_dataset(self._model, self.dataset_remedy)
        rows = None if preview is None else preview.train_rows
        self._typed.know_data(rows, problem if isinstance(problem, LossProblem) else "")
        self.update()

    def show_prediction(
        self, prediction: ArtifactsWithFootprint | None, doing: str = "", problem: str = ""
    ) -> None:
        self._wrong_artifacts, self._generating = problem, ""
        if self._model is None:
            return
        of = f"the artifacts of {self._model.name}"
        if doing:
            self._generating = f"Generating {of}: {doing} …"
            self.update()
        elif prediction is not None:
            generated, wrong = f"Generated {of}, with their graphs.", self._wrong_settings()
            level: Level = "idle" if wrong else "done"
            self._show(State("idle", level, f"{generated} {wrong}".rstrip()))
        elif problem:
            self.update()
        else:
            self._show(State("idle", "idle", f"Stopped generating {of}."))

    def show_profile(self, profile: Profile | None, doing: str = "", problem: str = "") -> None:
        self._profiling = ""
        if self._model is None:
            return
        if doing:
            self._profiling = f"Profiling {self._model.name}: {doing} …"
            self.update()
        elif profile is not None:
            doubts = dict.fromkeys(doubt_sentence(each) for each in profile.engines if each.useless)
            times = [f"{each.engine} {each.step_ms:.2f} ms" for each in profile.engines]
            told = f"Profiled {self._model.name}: {', '.join(times)} per step."
            text = " ".join([told, *doubts])
            self._show(State("idle", "paused" if doubts else "done", text))
        elif problem:
            self._show(State("idle", "error", problem))
        else:
            self._show(State("idle", "idle", "The profile was stopped."))

    def show_offers(self, offers: Sequence[Offer]) -> None:
        # Of those in progress the step changes.
        offered = [each.text for each in offers if each.action in ("resume", "begin", "wait")]
        if self._offered and offered and offered != self._offered:
            self._forget_refusal()
            self.update()
        self._offered = offered

    def show_task(self, name: str, state: TaskState) -> None:
        task = next(task for task in TASKS if task.name == name)
        doing = f"{task.title}: {state.doing} …" if state.doing and task.measures_time else ""
        if task.measures_time and doing != self._task:
            self._task = doing
            self.update()

    def show_estimate(self, estimate: Estimate) -> None:  # noqa: ARG002
        if self._wrong_artifacts:  # there is an estimate: the settings are right again
            self._wrong_artifacts = ""
            self.update()

    def update(self) -> None:
        """Show what prevents training from starting, or that it can start."""
        if self.loading:
            if not self._has_result():  # of a job since the model was chosen
                self._show(State("idle", "busy", loading_text(self.loading)))
            return
        if doing := self._generating or self._profiling:
            self._show(State("idle", "busy", doing, stoppable=True))
            return
        if self._task:
            self._show(State("idle", "busy", self._task))
            return
        wrong = self._wrong_model or self._wrong_data or self._wrong_artifacts
        if wrong:
            # Of a module that was just chosen the next field is to be filled in.
            incomplete = lacks_example(wrong) or wrong == self._lacking_data
            self._show(State("idle", "idle" if incomplete else "error", wrong))
        elif self._model is not None:
            self._show(State("idle", "idle", self._ready_text(self._model.name)))
        else:
            self._show(self.choose)

    @property
    def _has_both_buttons(self) -> bool:
        return self.hint == PRESS_EITHER

    def _wrong_settings(self) -> str:
        """Why settings are refused, in sentences; empty: they are not."""
        return self._typed.refusal("" if self._has_both_buttons else "train")

    def _ready_text(self, name: str) -> str:
        """What can be pressed, and what is typed that prevents the rest."""
        wrong = self._wrong_settings()
        if not wrong:
            return f"{name} is ready{self._typed.ready_text}. {self.hint}".rstrip()
        if self._has_both_buttons:
            for step in ("train", "compare"):
                if not self._typed.wrong(step):
                    return f"{wrong} {step.capitalize()} does not use it."
        return wrong
