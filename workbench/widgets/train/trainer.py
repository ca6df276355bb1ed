"""The step Train: engines, settings, and live results."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from workbench.controller import Controller, State
from workbench.controller.engine_rows import EngineRows
from workbench.controller.jobs.job import ComparisonJob, Job, model_of
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.recorded_runs.worst_rows import WorstRowsReader
from workbench.controller.view import View
from workbench.models import Model
from workbench.run_folder.events import Event
from workbench.runs.record.activity import ENDED
from workbench.runs.record.reader import NewPoints
from workbench.widgets.charts import (
    DATA_HINT,
    EMPTY_HINT,
    NOTHING_HINT,
    READY_HINT,
    Charts,
    results_in_runs,
)
from workbench.widgets.page.boxes import area
from workbench.widgets.page.standalone_step import StandaloneStep
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.train.engine_choice import EngineChoice
from workbench.widgets.train.evaluation_view import EvaluationView
from workbench.widgets.train.federation_view import FederationView
from workbench.widgets.train.layer_statistics_view import LayerStatisticsView
from workbench.widgets.train.ortmodule_form import ORTModuleForm
from workbench.widgets.train.own_examples import OwnExamples
from workbench.widgets.train.settings_form import SettingsForm
from workbench.widgets.train.task_section import sections
from workbench.widgets.train.worst_predictions_view import WorstPredictionsView

REFRESH_S = 1.0
"""Interval at which rows and layers are updated during a run."""

GIVE_DATA_HINT = "A dataset is missing."
"""Hint of the charts where the step is used alone; the status says what to do."""

ACTIONS = ("Train", "Pause", "Resume", "Step once", "Stop")


class Trainer(StandaloneStep):
    """Trains the chosen model and shows loss, throughput and memory live."""

    dataset_remedy = 'give one, as in wb.Trainer(model, data="x, y").'
    step = "train"

    def __init__(
        self,
        model: Any = None,
        engines: Sequence[str] | None = None,
        *,
        data: str = "",
        controller: Controller | None = None,
    ) -> None:
        """Create the view.

        Args:
            model: a `Model`, or an argument of `load_model`; None: nothing chosen yet.
            engines: names of the engines to offer; None: all that are not for tests.
            data: a dataset as typed in the step Model: a sample, a path, a name of the notebook, or
                two of them, of inputs and target, as in "x, y"; empty: that of the model.
            controller: of the app that it is a part of; None: a new one.

        Raises:
            EngineError: there is no engine of such a name.
        """
        self.engines = EngineChoice(engines)
        alone = self._begin(controller, ACTIONS)
        self.form = SettingsForm(self.controller.typed)
        self.ortmodule = ORTModuleForm()
        self.charts = Charts()
        self.federation = FederationView()
        self.evaluation = EvaluationView()
        self.worst = WorstPredictionsView()
        self.layers = LayerStatisticsView()
        self.statistics = RunStatistics()
        self.controller.typed.observe(self._on_settings)
        self._on_engines()
        self.engines.observe(self._on_engines, "value")
        self.ortmodule.observe(self._on_ortmodule, "value")
        self.sections = sections(self.controller, "train")
        self.own_examples = OwnExamples(self.controller)
        tasks = area("wb-tasks", self.sections)
        side = area("wb-side", [self.engines, self.form, self.ortmodule, tasks])
        results = [self.federation, self.evaluation, self.worst, self.layers, self.statistics]
        own = area("wb-tasks", [self.own_examples])
        # The results appear below the pad, which keeps its place.
        main = area("wb-main", [self.charts, own, *results])
        panel = area("wb-columns wb-results-first", [side, main])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-train", [panel])])
        self.controller.views.add(TrainView(self))
        if self._is_alone:
            self.controller.list_engines()
        if data:
            self.controller.choose_dataset(data)
        self._ready(model)

    def train(self) -> None:
        """Train the chosen model with each chosen engine, one after another."""
        self.controller.train()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is in progress; False on a timeout."""
        return self.controller.wait(timeout)

    def close(self) -> None:
        """Close the step; jobs in progress continue, except for those of a pad."""
        self.charts.close()
        self.own_examples.close()
        super().close()

    def _on_engines(self, _: Any = None) -> None:
        self.controller.typed.choose_engines(self.engines.value)

    def _on_settings(self) -> None:
        if self.controls is not None:
            self.controls.update_for(self.setup)

    def _on_ortmodule(self, change: Any) -> None:
        self.setup.ortmodule = dict(change.new)
        self.controller.typed.refuse_options(self.ortmodule.wrong())


class TrainView(View):
    """Shows the points and the outcome of a job."""

    def __init__(self, step: Trainer) -> None:
        self._step = step
        self._job: Job | None = None
        """The shown job; not a comparison, which the step Compare shows."""
        self._compares = False
        """Whether the job in progress is a comparison."""
        self._ended: Job | None = None
        """The shown job, once it has ended."""
        self._empty = EMPTY_HINT if step.status is None else step.status.message
        """The hint while there is no model."""
        self._hint = self._empty
        step.charts.hint = self._hint
        self._shown_lock = threading.RLock()
        """Held while it is decided what is shown: the engines of the form, or the results of a
        job."""
        step.engines.observe(self._name_chosen, "value")
        self._worst = WorstRowsReader()
        self._evaluated: set[str] = set()
        """Engines that were evaluated since their rows were shown."""
        self._refresh_after = 0.0

    def show_state(self, state: State) -> None:
        self._step.charts.flush()
        if time.monotonic() >= self._refresh_after:
            self._refresh()
        # A job that has ended is active while its figure is made; another model may be chosen.
        starting = state.active and state.status not in ENDED and not state.compares
        if starting and state.message and self._step.charts.empty:
            # While a run starts, the charts show the current activity.
            self._step.charts.hint = f"{state.message} {state.detail}".strip()

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._step.engines.update_for(model)
        self._hint = self._empty if model is None else READY_HINT
        with self._shown_lock:
            if self._job is None:
                self._step.charts.hint = self._hint
            elif model is not None and self._ended is not None:
                shown = model_of(self._ended)
                if shown != model.name:
                    self._ended = self._job = None
                    self._clear([])
                    self._step.charts.hint = results_in_runs(shown)
            self._name_chosen()

    def _name_chosen(self, _: Any = None) -> None:
        """Until a job is shown, name the chosen engines: the charts would move as it starts."""
        with self._shown_lock:
            if self._job is None:
                charts, known = self._step.charts, self._hint != self._empty
                charts.reset(self._step.engines.value if known else [], hint=charts.hint)
                charts.evaluates = known

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        if self._hint != self._empty:
            missing = DATA_HINT if self._step.controls is None else GIVE_DATA_HINT
            shown = self._step.charts.hint == self._hint
            self._hint = missing if preview is None else READY_HINT
            if shown:  # not what a run that starts does, or where the results before are
                self._step.charts.hint = self._hint

    def show_engines(self, rows: EngineRows) -> None:
        self._step.engines.show(rows)

    def job_started(self, job: Job) -> None:
        self._compares = isinstance(job, ComparisonJob)
        if self._compares:  # the results of the last training stay
            if self._step.charts.empty:
                self._step.charts.hint = self._hint
            return
        with self._shown_lock:
            self._job, self._ended = job, None
            self._clear(job.engines)
        self._step.charts.evaluates = any(
            run.spec["config"].get("evaluate", True) for run in job.runs.values()
        )
        for run in job.runs.values():
            if run.federation is not None:
                self._step.charts.step_name = "round"
                self._step.federation.begin(run, self._worst.classes(run))

    def _clear(self, engines: Sequence[str]) -> None:
        """Remove shown results and prepare for these engines."""
        self._step.charts.reset(engines)
        self._step.charts.step_name = "step"
        self._step.statistics.clear()
        self._step.federation.clear()
        self._step.evaluation.clear()
        self._step.worst.clear()
        self._step.layers.clear()
        self._worst.clear()
        self._evaluated = set()
        self._refresh_after = 0.0

    def show_total_steps(self, steps: int) -> None:
        if not self._compares:
            self._step.charts.total_steps = steps

    def add_points(self, engine: str, points: NewPoints) -> None:
        if self._compares:
            return
        self._step.charts.add(engine, points)
        if self._job is not None and engine in self._job.runs:
            self._step.charts.name(engine, self._job.runs[engine])
        self._step.layers.add(engine, points.events, points.restored_step)
        self._step.federation.add(points.events)
        if any(event["event"] == "evaluation" for event in points.events):
            self._evaluated.add(engine)
            self._show_evaluation(engine, points.events)

    def _show_evaluation(self, engine: str, events: Sequence[Event]) -> None:
        """With the names of the classes, which are those of the dataset that the run was given."""
        run = self._job.runs.get(engine) if self._job is not None else None
        if run is not None:
            self._step.evaluation.classes = self._worst.classes(run)
        federated = run is not None and run.federation is not None
        self._step.evaluation.add(engine, events, federated)

    def _refresh(self) -> None:
        """Show the worst rows of the last evaluations, the layers and the rounds."""
        self._step.layers.flush()
        self._step.federation.flush()
        evaluated, self._evaluated = self._evaluated, set()
        for engine in evaluated:
            if self._job is not None and engine in self._job.runs:
                self._step.worst.show(engine, *self._worst.rows(self._job.runs[engine]))
        self._refresh_after = time.monotonic() + REFRESH_S

    def job_ended(self, job: Job) -> None:
        if self._compares:
            self._compares = False
            return
        self._refresh()
        with self._shown_lock:  # another model may be chosen meanwhile
            self._ended = job
            self._step.charts.evaluates = False
            self._step.charts.hint = NOTHING_HINT
            self._step.statistics.show(job.runs, notes=True)

    def job_failed(self) -> None:
        self._compares = False
        self._step.charts.hint = self._hint
