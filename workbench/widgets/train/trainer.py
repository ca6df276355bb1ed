"""The step Train: engines, settings, and live results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.controller import Controller
from workbench.runs.listing import Changes
from workbench.widgets.charts import Charts
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
from workbench.widgets.train.train_parts import TrainParts
from workbench.widgets.train.train_view import TrainView
from workbench.widgets.train.worst_predictions_view import WorstPredictionsView

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
        self.charts = Charts(evaluates=True)
        self.federation = FederationView()
        self.evaluation = EvaluationView()
        self.worst = WorstPredictionsView()
        self.layers = LayerStatisticsView(self.controller.typed)
        self.statistics = RunStatistics()
        self.controller.typed.observe(self._on_settings)
        self._on_engines()
        self.engines.observe(self._on_engines, "value")
        self.ortmodule.observe(self._on_ortmodule, "value")
        self.sections = sections(self.controller, "train")
        self.own_examples = OwnExamples(self.controller)
        tasks = area("wb-tasks", self.sections)
        side = area("wb-side", [self.engines, self.form, self.ortmodule, tasks])
        results = (self.federation, self.layers, self.evaluation, self.worst, self.statistics)
        own = area("wb-tasks", [self.own_examples])
        # The results appear below the pad, which keeps its place.
        main = area("wb-main", [self.charts, own, *results])
        panel = area("wb-columns wb-results-first", [side, main])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-train", [panel])])
        parts = TrainParts(self.engines, self.charts, *results)
        alone_hint = None if self.status is None else self.status.message
        self._view = TrainView(parts, alone_hint)
        self.controller.views.add(self._view)
        if self._is_alone:
            self.controller.list_engines()
        if data:
            self.controller.choose_dataset(data)
        self._ready(model)

    def follow(self, changes: Changes, resumed: Sequence[str]) -> None:
        """The recorded runs have changed: those shown may be deleted, restored or `resumed`."""
        self._view.follow(changes, resumed)

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
