"""The step Model: the choice of model and data."""

from __future__ import annotations

from typing import Any

from workbench.controller import Controller
from workbench.controller.model.sources import model_or_name
from workbench.controller.model.target_names import has_target_field
from workbench.models import Model
from workbench.widgets.model import hints
from workbench.widgets.model.data_view import DataView
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard
from workbench.widgets.model.model_fields import ModelFields
from workbench.widgets.model.model_step_view import ModelStepView
from workbench.widgets.model.own_data import DataTexts, OwnData
from workbench.widgets.page.after_cells import after_each_cell
from workbench.widgets.page.boxes import area
from workbench.widgets.page.standalone_step import StandaloneStep
from workbench.widgets.train.task_section import sections


class ModelView(StandaloneStep):
    """Chooses a model and a dataset, and shows their contents.

    `model_view.model` is the chosen `Model`, `model_view.setup` the settings of jobs.
    """

    dataset_remedy = "choose one in the field Dataset."
    has_model_fields = True
    step = "model"

    def __init__(self, model: Any = None, *, controller: Controller | None = None) -> None:
        """Create the view.

        Args:
            model: a `Model`, or a text as for its field; None: nothing chosen yet.
            controller: of the app that it is a part of; None: a new one.
        """
        alone = self._begin(controller)
        self.fields = ModelFields(self.controller.sources)
        self.field, self.example_inputs = self.fields.model, self.fields.example_inputs
        self.dataset, self.target, self.groups = self.fields.of_data
        self.card = ModelCard(hint=hints.CARD_HINT)
        self.layers = LayerTable(hint=hints.LAYERS_HINT)
        self.data = DataView(hint=hints.DATA_HINT)
        self._chosen = ""
        self._filling = False
        self.own_data = OwnData()
        side = area("wb-side", [*self.fields.all, self.card])
        self.sections = sections(self.controller, "model")
        tasks = area("wb-tasks", self.sections)
        panel = area("wb-columns", [side, area("wb-main", [self.layers, self.data, tasks])])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-model", [panel])])
        self._view = ModelStepView(
            self.controller.typed, self.fields, self.card, self.layers, self.data, self.own_data
        )
        self.controller.views.add(self._view)
        self.field.observe(self._on_field, "value")
        self.example_inputs.observe(self._on_examples, "value")
        self.dataset.observe(self._on_dataset, "value")
        for column in (self.target, self.groups):
            column.observe(self._on_column, "value")
        self.field.on_again = self.example_inputs.on_again = self._choose_again
        for each in self.fields.of_data:
            each.on_again = self._choose_dataset
        after_each_cell(self, ModelView._look_again)
        self._ready(model)

    @property
    def model(self) -> Model | None:
        """The chosen model; None: there is none, or it is not loaded."""
        return self._view.model

    def choose(self, model: Any) -> None:
        """Choose a model as if its name had been typed."""
        found = model_or_name(model)
        name = found.name if isinstance(found, Model) else found
        self._choose(name, found)

    def choose_dataset(self, dataset: str, target: str = "", groups: str = "") -> None:
        """Choose a dataset as if it had been typed.

        Args:
            dataset: as in the field.
            target: target of a .csv or .npz file.
            groups: group column of a .csv file.
        """
        fields = self.fields.of_data
        before = [field.value for field in fields]
        self._filling = True
        try:
            for field, value in zip(fields, (dataset, target, groups), strict=True):
                field.value = value
        finally:
            self._filling = False
        if [field.value for field in fields] != before:
            self.fields.show_columns()
            self._choose_dataset()

    def _begin_choice(self, name: str) -> None:
        self._chosen = name
        self.field.problem = self.example_inputs.problem = ""  # of the choice before

    def _on_field(self, change: Any) -> None:
        if change.new != self._chosen:
            self._choose(change.new, change.new)

    def _choose(self, name: str, model: Model | str) -> None:
        """Choose what `name`, the text in the field, stands for, with the data kept for it."""
        typed = DataTexts(*(field.value for field in self.fields.all[1:]))
        data = self.own_data.for_choice(name, typed, self._chosen)
        self._begin_choice(name)
        self.field.value = name
        if data is not None:
            self.controller.setup.example_inputs = data.example_inputs.strip()
            self.example_inputs.value = data.example_inputs
        self.controller.choose_model(model)
        if data is not None:
            self.choose_dataset(data.dataset, data.target, data.groups)

    def _choose_again(self) -> None:
        self._begin_choice(self.field.value)
        self.controller.choose_model(self.field.value)

    def _on_examples(self, change: Any) -> None:
        if change.new.strip() == self.controller.setup.example_inputs:
            return
        self.controller.setup.example_inputs = change.new.strip()
        if self._chosen:
            self.controller.choose_model(self._chosen)

    def _on_dataset(self, _: Any) -> None:
        if self._filling:
            return
        self.fields.empty_unknown_columns()  # those of the file before
        self.fields.show_columns()
        self._choose_dataset()

    def _on_column(self, _: Any) -> None:
        if has_target_field(self.dataset.value) and not self._filling:
            self._choose_dataset()

    def _choose_dataset(self) -> None:
        for field in self.fields.of_data:
            field.problem = ""  # of the choice before
        self.controller.choose_dataset(*self.fields.chosen_data())

    def _look_again(self) -> None:
        """Choose model and data again, if a cell has assigned to their names. A module of which
        only weights have changed is read anew when it is trained."""
        if self.fields.has_changed("model"):
            self.fields.note_chosen("model")  # once, however long it takes to load
            self._choose_again()
        if self.fields.has_changed("data"):
            self.fields.note_chosen("data")
            self._choose_dataset()
