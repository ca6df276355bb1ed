"""The workbench as one page: choose a model, train it with several engines, watch and compare."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import ipywidgets

from workbench.compare import Comparison, compare
from workbench.data import load_dataset
from workbench.errors import ConfigError, ModelError
from workbench.models import Model
from workbench.runs import Run, train
from workbench.runs.run import ENDED
from workbench.settings.config import OFFERED_ENGINES
from workbench.widgets.charts import EMPTY_HINT, Charts
from workbench.widgets.choice_field import ChoiceField
from workbench.widgets.comparison_table import ComparisonTable
from workbench.widgets.controls import Controls
from workbench.widgets.engine_choice import EngineChoice
from workbench.widgets.follower import Follower
from workbench.widgets.job import ComparisonJob, Job, Training
from workbench.widgets.model_choice import ModelChoice
from workbench.widgets.ortmodule_form import ORTModuleForm
from workbench.widgets.request_thread import RequestThread
from workbench.widgets.run_statistics import RunStatistics
from workbench.widgets.settings_form import SettingsForm
from workbench.widgets.static_figure import StaticFigure
from workbench.widgets.status import Status
from workbench.widgets.subshell import answer_while_busy

PERIOD_S = 0.25
"""Time between two looks at the runs: four updates a second are live, and cost the least."""

COMPARISON_PERIOD_S = 1.0
"""The same during a comparison, where to draw takes from the cores that it measures."""

READY = "Choose a model to begin."
PLAIN_TEXT = "The workbench: run this cell in JupyterLab to use it."


class Workbench(ipywidgets.Box):  # type: ignore[misc]
    """A page to load a model, train it and compare engines, live.

    Its methods do what its buttons do and return at once; `wait` waits. Handlers only leave
    requests: everything that takes time happens on threads of the page, and training in workers.
    """

    def __init__(
        self, model: Model | str | None = None, engines: Sequence[str] = OFFERED_ENGINES
    ) -> None:
        """Make the page.

        Args:
            model: a `Model`, or what can be typed in the page's field: the name of a sample, the
                path of an .onnx file, or "package.module:factory". None: nothing chosen yet.
            engines: names of the engines to offer.
        """
        self.status = Status(message=READY)
        self.models = ModelChoice(self._on_loaded, self._on_side_error)
        self.dataset = ChoiceField(
            label="Dataset",
            list_label="Sample datasets",
            placeholder="that of the sample",
            options=dataset_options(),
        )
        self.engines = EngineChoice(engines)
        self.form = SettingsForm()
        self.ortmodule = ORTModuleForm()
        self.controls = Controls(
            {
                "Train": self.train,
                "Compare": self.compare,
                "Pause": self.pause,
                "Resume": self.resume,
                "Stop": self.stop,
            }
        )
        self.charts = Charts()
        self.table = ComparisonTable()
        self.statistics = RunStatistics()
        self._idle = threading.Event()
        self._idle.set()
        self._follower: Follower | None = None
        self._requests = RequestThread("workbench-page", self._on_error, self._poll, PERIOD_S)
        self._looking = RequestThread("workbench-engines", self._on_side_error)
        self._looking.ask(self.engines.look)

        self._figure = StaticFigure()
        fields = [self.models.field, self.models.card, self.dataset, self.engines, self.form]
        setup = area("wb-setup", [*fields, self.controls, self.ortmodule])
        shown = [self.status, self.charts, self.table, self.statistics, self.models.layers]
        results = area("wb-results", shown)
        super().__init__(children=[area("wb-body", [setup, results]), self._figure])
        self.add_class("wb-page")
        self._figure.page_id = self.model_id
        answer_while_busy(self)
        if model is not None:
            self.models.choose(model)

    def train(self) -> None:
        """Train the chosen model with each chosen engine, one after another."""
        self._start(self._make_training)

    def compare(self) -> None:
        """Compare the chosen engines on the chosen model, in lock step."""
        self._start(self._make_comparison)

    def show(self, job: Run | Comparison) -> None:
        """Follow a run or a comparison that was started, or has ended, elsewhere."""
        made = Training.of(job) if isinstance(job, Run) else ComparisonJob(job)
        self._start(lambda: made)

    def pause(self) -> None:
        """Pause before the next step, or the next burst of a comparison."""
        self._steer("pause")

    def resume(self) -> None:
        """Go on after a pause."""
        self._steer("resume")

    def stop(self) -> None:
        """Stop before the next step. Checkpoint and summary are kept."""
        self._steer("stop")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is under way any more; False when `timeout` seconds were too few."""
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Take the page away and end its threads; what is under way goes on without it."""
        self.models.close()
        self._requests.close()
        self._looking.close()
        super().close()

    def _ipython_display_(self, **_: Any) -> None:
        from IPython.display import display

        data = self._repr_mimebundle_()
        display({**data, "text/plain": PLAIN_TEXT}, raw=True)  # type: ignore[no-untyped-call]
        self._figure.display()

    def _start(self, make: Any) -> None:
        self._idle.clear()
        self._requests.ask(lambda: self._begin(make))

    def _begin(self, make: Any) -> None:
        """Make a job and follow it. On the page's thread, as all that begins with an underscore."""
        if self._follower is not None:
            return
        self.controls.show("starting")
        self._figure.active = True
        self.status.show("busy", "Preparing the model and its data …", progress=0.0)
        self.statistics.clear()
        job: Job = make()
        measures = isinstance(job, ComparisonJob)
        if measures:
            self.table.clear("The figures appear when every engine has finished.")
        show_s = COMPARISON_PERIOD_S if measures else 0.0
        self._follower = Follower(job, self.charts, self.status, show_s)
        self._poll()

    def _poll(self) -> bool:
        if self._follower is None:
            return False
        status = self._follower.poll()
        self.controls.show(status)
        if status in ENDED:
            self._finish(self._follower.job)
        return self._follower is not None

    def _finish(self, job: Job) -> None:
        try:
            if isinstance(job, ComparisonJob):
                self.table.show(job.comparison)
            self.statistics.show(job.runs, notes=not isinstance(job, ComparisonJob))
            if any(run.progress.done_steps for run in job.runs.values()):
                self._figure.show(job.plot(), job.id, job.outcome)
        finally:
            self._follower = None
            self._rest()

    def _rest(self) -> None:
        self.controls.show("idle")
        self._figure.active = False
        self._idle.set()

    def _steer(self, action: str) -> None:
        self._requests.ask(lambda: self._do(action))

    def _do(self, action: str) -> None:
        if self._follower is not None:
            getattr(self._follower.job, action)()
            self._poll()

    def _make_training(self) -> Job:
        model, dataset = self._chosen()
        settings = {**self.form.settings(), **self.ortmodule.settings()}
        return Training(
            lambda engine: train(model, dataset, engine=engine, **settings), self._engines()
        )

    def _make_comparison(self) -> Job:
        model, dataset = self._chosen()
        steps, quiet_s = self.form.comparison_steps.value, self.form.quiet_s.value
        settings = {**self.form.settings(), **self.ortmodule.settings()}
        del settings["epochs"]
        return ComparisonJob(compare(model, dataset, self._engines(), steps, quiet_s, **settings))

    def _chosen(self) -> tuple[Model, Any]:
        model = self.models.load()
        if model is None:
            raise ModelError("No model is chosen: pick a sample in the field Model, or type one.")
        return model, load_dataset(self.dataset.value.strip() or model)

    def _engines(self) -> list[str]:
        if not self.engines.value:
            raise ConfigError(["engines=[]: choose at least one engine."])
        return list(self.engines.value)

    def _on_loaded(self, model: Model) -> None:
        self.form.fill(model.defaults)
        if self._follower is None:
            self.status.show("idle", f"{model.name} is ready. Press Train or Compare.")

    def _on_side_error(self, error: Exception) -> None:
        """What went wrong beside the job that is shown: told unless there is one."""
        if self._follower is None:
            self.status.show_error(error)

    def _on_error(self, error: Exception) -> None:
        """What kept a job from starting or from being followed: it is not followed any more."""
        self._follower = None
        self.charts.hint = EMPTY_HINT
        self.status.show_error(error)
        self._rest()


def area(name: str, children: list[ipywidgets.DOMWidget]) -> ipywidgets.Box:
    """A part of the page; the style sheet places it."""
    box = ipywidgets.Box(children=children)
    box.add_class(name)
    return box


def dataset_options() -> list[dict[str, str]]:
    """The sample datasets, as options of the field."""
    from sample_models import DATASETS

    return [{"value": name, "detail": ""} for name in DATASETS]
