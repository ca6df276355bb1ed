"""Fills the forms of the app with the settings that a run was started with."""

from __future__ import annotations

from workbench.controller import Controller
from workbench.controller.restore import restored
from workbench.runs import Run
from workbench.widgets.model.model_view import ModelView
from workbench.widgets.train.trainer import Trainer


class FormFiller:
    """Restores model, dataset, engine and settings of a run."""

    def __init__(self, controller: Controller, models: ModelView, trainer: Trainer) -> None:
        self._controller = controller
        self._models = models
        self._trainer = trainer

    def fill(self, run: Run) -> None:
        """Replace the current settings."""
        was = restored(run)
        self._controller.typed.replace(was.settings)
        self._trainer.ortmodule.value = was.ortmodule
        self._trainer.engines.choose(run.engine)
        self._models.choose_dataset(was.dataset, was.target, was.groups)
        if was.model:
            self._models.choose(was.model)
        else:
            name = run.spec["model"]
            self._models.field.problem = f"{name} is no sample: choose its file or module here."

    def fill_empty(self, run: Run) -> None:
        """The same, unless a user has already chosen another model or typed settings."""
        controller = self._controller
        if controller.setup.model in ("", run.spec["model"]) and not controller.typed.texts:
            self.fill(run)
