"""The step Train: engines, settings, and what training comes to while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.controller import Controller, State
from workbench.controller.engine_rows import EngineRows
from workbench.controller.job import ComparisonJob, Job
from workbench.controller.view import View
from workbench.models import Model
from workbench.runs.reader import NewPoints
from workbench.widgets.app.alone import Alone
from workbench.widgets.app.boxes import area
from workbench.widgets.charts import EMPTY_HINT, NOTHING_HINT, Charts
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.train.engine_choice import EngineChoice
from workbench.widgets.train.evaluation_view import EvaluationView
from workbench.widgets.train.ortmodule_form import ORTModuleForm
from workbench.widgets.train.settings_form import SettingsForm

ACTIONS = ("Train", "Pause", "Resume", "Step once", "Stop")


class Trainer(Alone):
    """Trains the chosen model and shows loss, throughput and memory as they come."""

    def __init__(
        self,
        model: Model | str | None = None,
        engines: Sequence[str] | None = None,
        *,
        controller: Controller | None = None,
    ) -> None:
        """Make the view.

        Args:
            model: a `Model`, or what `load_model` takes; None: nothing chosen yet.
            engines: names of the engines to offer; None: all that are not for tests.
            controller: of the app that it is a part of; None: one of its own.

        Raises:
            EngineError: there is no engine of such a name.
        """
        self.engines = EngineChoice(engines)
        alone = self._begin(controller, ACTIONS)
        self.form = SettingsForm(self.controller.typed)
        self.ortmodule = ORTModuleForm()
        self.charts = Charts()
        self.evaluation = EvaluationView()
        self.statistics = RunStatistics()
        self.setup.engines = list(self.engines.value)
        self.engines.observe(self._on_engines, "value")
        self.ortmodule.observe(self._on_ortmodule, "value")
        side = area("wb-side", [self.engines, self.form, self.ortmodule])
        main = area("wb-main", [self.charts, self.evaluation, self.statistics])
        panel = area("wb-columns wb-results-first", [side, main])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-train", [panel])])
        self.controller.views.add(TrainView(self))
        if self._is_alone:
            self.controller.list_engines()
        self._ready(model)

    def train(self) -> None:
        """Train the chosen model with each chosen engine, one after another."""
        self.controller.train()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is under way any more; False when `timeout` seconds were too few."""
        return self.controller.wait(timeout)

    def close(self) -> None:
        """Take the step away; what is under way goes on without it."""
        self.charts.close()
        super().close()

    def _on_engines(self, change: Any) -> None:
        self.setup.engines = list(change.new)

    def _on_ortmodule(self, change: Any) -> None:
        self.setup.ortmodule = dict(change.new)


class TrainView(View):
    """Shows the points and the outcome of a job."""

    def __init__(self, step: Trainer) -> None:
        self._step = step
        self._job: Job | None = None

    def show_state(self, state: State) -> None:
        self._step.charts.flush()
        if state.active and state.message:
            # While a run starts, the charts say what is being done.
            self._step.charts.hint = f"{state.message} {state.detail}".strip()

    def show_engines(self, rows: EngineRows) -> None:
        self._step.engines.show(rows)

    def job_started(self, job: Job) -> None:
        self._job = job
        self._step.charts.reset(job.engines)
        self._step.statistics.clear()
        self._step.evaluation.clear()

    def show_total_steps(self, steps: int) -> None:
        self._step.charts.total_steps = steps

    def add_points(self, engine: str, points: NewPoints) -> None:
        self._step.charts.add(engine, points)
        if self._job is not None and engine in self._job.runs:
            self._step.charts.name(engine, self._job.runs[engine])
        self._step.evaluation.add(engine, points.events)

    def job_ended(self, job: Job) -> None:
        self._step.charts.hint = NOTHING_HINT
        self._step.statistics.show(job.runs, notes=not isinstance(job, ComparisonJob))

    def job_failed(self) -> None:
        self._step.charts.hint = EMPTY_HINT
