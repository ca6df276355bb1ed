"""The step Model: the choice of model and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.controller import Controller
from workbench.controller.background.model_check import CHECKING, WAITING
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow, with_frozen
from workbench.controller.model.sources import (
    ExampleProblem,
    LossProblem,
    lacks_example,
    model_or_name,
    split_names,
)
from workbench.controller.model.target_names import (
    csv_columns,
    has_target_field,
    is_csv,
    target_names,
    targets_to_choose,
)
from workbench.controller.view import View
from workbench.models import Model
from workbench.widgets.model import hints
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.model.data_view import DataView
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard
from workbench.widgets.model.options import (
    column_options,
    dataset_options,
    example_options,
    model_options,
    target_options,
)
from workbench.widgets.model.own_data import DataTexts, OwnData
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
        sources = self.controller.sources
        self.field = ChoiceField(
            lambda text: model_options(sources, text),
            label="Model",
            list_label="Models",
            placeholder="Sample, name or path",
        )
        self.example_inputs = ChoiceField(
            lambda text: example_options(sources, text),
            label="Example input",
            list_label="Arrays of the notebook",
            placeholder="only for modules of the notebook",
            description=hints.OF_EXAMPLE_INPUTS,
        )
        self.dataset = ChoiceField(
            lambda text: dataset_options(sources, text),
            label="Dataset",
            list_label="Datasets",
            placeholder="that of the sample, or X, y",
            description="A sample, a file, a name of the notebook, or two: inputs, target",
        )
        self.target = ChoiceField(
            lambda _: target_options(self.dataset.value),
            label="Target",
            list_label="Columns or arrays of the file",
            placeholder="what to predict",
            description="All others are inputs, and must hold numbers",
        )
        self.groups = ChoiceField(
            lambda _: column_options(self.dataset.value),
            label="Group column",
            list_label="Columns of the file",
            placeholder="none",
            description="Optional: of federated clients, such as the user that a row is from",
        )
        self._show_columns()
        self.card = ModelCard(hint=hints.CARD_HINT)
        self.layers = LayerTable(hint=hints.LAYERS_HINT)
        self.data = DataView(hint=hints.DATA_HINT)
        self.model: Model | None = None
        self._chosen = ""
        self._filling = False
        self.own_data = OwnData()
        chosen = [self.field, self.example_inputs, self.dataset, self.target, self.groups]
        fields = area("wb-side", [*chosen, self.card])
        self.sections = sections(self.controller, "model")
        tasks = area("wb-tasks", self.sections)
        panel = area("wb-columns", [fields, area("wb-main", [self.layers, self.data, tasks])])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-model", [panel])])
        self.controller.views.add(ModelStepView(self))
        self.field.observe(self._on_field, "value")
        self.example_inputs.observe(self._on_examples, "value")
        self.dataset.observe(self._on_dataset, "value")
        for column in (self.target, self.groups):
            column.observe(self._on_column, "value")
        self.field.on_again = self.example_inputs.on_again = self._choose_again
        for each in (self.dataset, self.target, self.groups):
            each.on_again = self._choose_dataset
        self._ready(model)

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
        fields = (self.dataset, self.target, self.groups)
        before = [field.value for field in fields]
        self._filling = True
        try:
            for field, value in zip(fields, (dataset, target, groups), strict=True):
                field.value = value
        finally:
            self._filling = False
        if [field.value for field in fields] != before:
            self._show_columns()
            self._choose_dataset()

    def _begin_choice(self, name: str) -> None:
        self._chosen = name
        self.field.problem = self.example_inputs.problem = ""  # of the choice before

    def _on_field(self, change: Any) -> None:
        if change.new != self._chosen:
            self._choose(change.new, change.new)

    def _choose(self, name: str, model: Model | str) -> None:
        """Choose what `name`, the text in the field, stands for, with the data kept for it."""
        fields = (self.example_inputs, self.dataset, self.target, self.groups)
        typed = DataTexts(*(field.value for field in fields))
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
        # Names of the previous file are reset, unless this one has them too.
        source = self.dataset.value
        offered = {self.target: target_names(source), self.groups: csv_columns(source)}
        for field, names in offered.items():
            if not _names_in(field.value, names):
                field.value = ""
        self._show_columns()
        self._choose_dataset()

    def _on_column(self, _: Any) -> None:
        if has_target_field(self.dataset.value) and not self._filling:
            self._choose_dataset()

    def _choose_dataset(self) -> None:
        source = self.dataset.value
        for field in (self.dataset, self.target, self.groups):
            field.problem = ""  # of the choice before
        target = self.target.value if has_target_field(source) else ""
        groups = self.groups.value if is_csv(source) else ""
        self.controller.choose_dataset(source, target, groups)

    def field_of_data_problem(self) -> ChoiceField | None:
        """The field to correct where the data are refused; None: those of the model are."""
        if not self.dataset.value.strip():
            return None
        source = self.dataset.value
        target, groups = self.target.value.strip(), self.groups.value.strip()
        if targets_to_choose(source) and not target:
            return self.target
        if target and (names := target_names(source)) and not _names_in(target, names):
            return self.target
        columns = csv_columns(source)
        wrong_groups = columns and groups and (groups == target or groups not in columns)
        return self.groups if wrong_groups else self.dataset

    def _show_columns(self) -> None:
        """Show the fields of names in the file where there are some to choose."""
        source = self.dataset.value
        shown = {self.target: has_target_field(source), self.groups: is_csv(source)}
        for field, wanted in shown.items():
            field.layout.display = None if wanted else "none"
            field.look("")


def _names_in(target: str, names: Sequence[str]) -> bool:
    """Whether `target` is one of the names, or several separated by commas."""
    return target in names or all(part in names for part in split_names(target))


class ModelStepView(View):
    """Shows the model, its layers and its data."""

    def __init__(self, step: ModelView) -> None:
        self._step = step
        self._rows: Sequence[LayerRow] = ()
        self._verdict = ""
        step.controller.typed.observe(self._show_rows)

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._step.model = model
        of_examples = isinstance(problem, ExampleProblem)
        wrong = self._step.example_inputs if of_examples else self._step.field
        lacking = lacks_example(problem)
        for field in (self._step.field, self._step.example_inputs):
            field.problem = problem if field is wrong and not lacking else ""
        described = hints.NEEDED_INPUTS if lacking else hints.OF_EXAMPLE_INPUTS
        self._step.example_inputs.description = described
        if model is None:
            self._step.card.clear("" if problem else hints.CARD_HINT)
        else:
            self._step.own_data.note_loaded(model.name, self._step.field.value)
            self._step.card.show(model)

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        self._rows = rows or ()
        if rows is None:
            self._step.layers.clear(hints.LOADING_HINT if loading else hints.LAYERS_HINT)
        else:
            self._show_rows()

    def _show_rows(self) -> None:
        """The layers, with those that are frozen by choice."""
        rows, model = self._rows, self._step.model
        if rows and model is not None:
            trained = self._step.controller.typed.trained_names
            self._step.layers.show(with_frozen(rows, model.parameter_names, trained))
            self._fill_verdict()

    def show_verdict(self, verdict: str) -> None:
        self._verdict = verdict
        self._fill_verdict()
        self._step.layers.checked = verdict not in ("", WAITING, CHECKING)

    def _fill_verdict(self) -> None:
        """With what is frozen by choice, which the check of the model does not know."""
        chosen = self._step.controller.typed.trained_sentence if self._verdict else ""
        self._step.card.verdict = f"{self._verdict} {chosen}".rstrip()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        fields = (self._step.dataset, self._step.target, self._step.groups)
        # Of a loss the field is in Train.
        wrong = None if isinstance(problem, LossProblem) else self._step.field_of_data_problem()
        for field in fields:
            field.problem = problem if field is wrong else ""
        in_train = isinstance(problem, LossProblem) and "loss" in self._step.controller.typed.texts
        elsewhere = problem if wrong is None and not in_train else ""
        if preview is None:
            self._step.data.clear(hints.DATA_HINT, elsewhere)
        else:
            self._step.data.show(preview, elsewhere)
