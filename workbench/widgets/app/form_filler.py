"""Fills the forms of the app with the settings that a run was started with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.controller import Controller
from workbench.controller.jobs.job import Job
from workbench.controller.jobs.next_engines import next_engines
from workbench.controller.jobs.outcome import listed
from workbench.controller.model.namespace import is_arrays, is_module
from workbench.controller.model.sources import split_names
from workbench.controller.restore import missing_names, restored
from workbench.controller.view import View
from workbench.models import Model
from workbench.runs import Run
from workbench.widgets.model.model_view import ModelView
from workbench.widgets.model.own_data import is_sample
from workbench.widgets.train.trainer import Trainer


class _Filled(NamedTuple):
    """What was filled in."""

    model: str
    source: str
    """As it was chosen: its name, or the path of its file."""
    shown: bool
    """Whether the model of the run was chosen since; until then a user is asked for it."""
    texts: dict[str, str]
    ortmodule: Any
    engines: list[str]
    engines_before: list[str]


class FormFiller(View):
    """Restores model, dataset, engine and settings of a run. Another model gets its own settings
    and the engines from before, unless a user has changed what was filled in."""

    def __init__(self, controller: Controller, models: ModelView, trainer: Trainer) -> None:
        self._controller = controller
        self._models = models
        self._trainer = trainer
        self._filled: _Filled | None = None

    def fill(self, run: Run, trained_by: Sequence[str] = ()) -> bool:
        """Replace the current settings.

        Args:
            run: whose settings to show.
            trained_by: the engines to choose; none: that of the run.

        Returns:
            Whether its model is chosen; else a user is asked for it.
        """
        was, engines = restored(run), self._trainer.engines
        kept = self._filled is not None and engines.wanted == self._filled.engines
        before = self._filled.engines_before if kept and self._filled else engines.wanted
        self._filled = None  # what follows chooses the model of the run
        self._controller.typed.replace(was.settings)
        self._trainer.ortmodule.value = was.ortmodule
        self._trainer.engines.choose(*(trained_by or [run.engine]))
        self._models.own_data.forget_model()  # its data are replaced by those of the run
        self._models.choose_dataset(self._dataset(was.dataset), was.target, was.groups)
        chosen = self._choose(was.model or str(run.spec["model"]), was.model)
        texts = dict(self._controller.typed.texts)
        model, ortmodule = str(run.spec["model"]), self._trainer.ortmodule.value
        source, wanted = self._models.field.value, engines.wanted
        self._filled = _Filled(model, source, chosen, texts, ortmodule, wanted, before)
        return chosen

    def begin_again(self, run: Run) -> None:
        """Train as when `run` was started, with its engine and those that were to train after
        it."""
        if self.fill(run, [run.engine, *next_engines(run.folder)]):
            self._controller.train()

    def go_on(self, run: Run) -> str:
        """Follow a run that was resumed, and train the engines that waited for it; without these,
        those that are chosen stay. Returns what is done, in sentences."""
        job = self._controller.going_on(run)
        done = [f"{listed(job.waiting)} will train after it."] if job.waiting else []
        if not self._controller.state.active:
            self.fill(run, job.engines if job.waiting else self._trainer.engines.wanted)
            done.insert(0, "The page took over its settings.")
        self._controller.show(job)
        return " ".join(done)

    def _choose(self, name: Model | str, recorded: Model | str) -> bool:
        """Choose the model of a run; False: a user is asked for it.

        Args:
            name: its name, or itself.
            recorded: itself or its source, as far as the record has it; empty: it does not.
        """
        module = self._controller.sources.names().get(name) if isinstance(name, str) else None
        if not recorded and not is_module(module):
            self._models.field.problem = f"{name} is no sample: choose its file or module here."
            return False
        chosen = self._models.model
        if chosen is not None and is_sample(chosen.name) and name == self._models.field.value:
            return True  # with the artifacts that were generated from it
        self._models.choose(name)
        inputs = split_names(self._models.dataset.value)[:-1]
        if not recorded and inputs:
            self._models.example_inputs.value = ", ".join(inputs)  # a module needs some rows
        return True

    def _dataset(self, name: str) -> str:
        """The dataset as it is typed: of two names of the notebook, inputs and target, the records
        of older versions have the first."""
        chosen = self._models.dataset.value
        without_target = is_arrays(self._controller.sources.names().get(name))
        return chosen if without_target and split_names(chosen)[:1] == [name] else name

    def show_model(self, model: Model | None, problem: str = "") -> None:
        filled = self._filled
        if filled is None or model is None:
            return
        # That of the model before may be under way still.
        late = self._controller.setup.model in (filled.model, filled.source)
        if model.name == filled.model or not filled.shown or late:
            self._filled = filled._replace(shown=filled.shown or model.name == filled.model)
            return
        self._filled = None
        typed, trainer = self._controller.typed, self._trainer
        if typed.texts == filled.texts:
            typed.replace({})
        if trainer.ortmodule.value == filled.ortmodule:
            trainer.ortmodule.value = {}
        if trainer.engines.wanted in (filled.engines, []):  # or it cannot run here
            trainer.engines.choose(*filled.engines_before)

    def fill_empty(self, job: Job) -> None:
        """The same for a job, unless a user has already chosen another model or typed settings, or
        the notebook does not have what it was started with."""
        controller, run = self._controller, next(iter(job.runs.values()))
        if missing_names(run, controller.sources.names()):
            return  # fields that nobody has filled in would be wrong
        if controller.setup.model in ("", run.spec["model"]) and not controller.typed.texts:
            self.fill(run, job.engines)
