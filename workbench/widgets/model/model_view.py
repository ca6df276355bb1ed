"""The step Model: the choice of model and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.controller import Controller
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow
from workbench.controller.model.sources import csv_columns, is_csv, model_or_name
from workbench.controller.view import View
from workbench.models import Model
from workbench.widgets.model.choice_field import ChoiceField
from workbench.widgets.model.data_view import DataView
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard
from workbench.widgets.model.options import (
    dataset_options,
    example_options,
    model_options,
    target_options,
    unreadable,
)
from workbench.widgets.page.boxes import area
from workbench.widgets.page.standalone_step import StandaloneStep
from workbench.widgets.train.task_section import sections

CARD_HINT = "Choose a sample, a module of this notebook, an .onnx file or package.module:factory."
LAYERS_HINT = "The layers of the model that you choose appear here."
LOADING_HINT = "Building the model to list its layers …"
DATA_HINT = "Rows of the dataset appear here once one is chosen; samples bring their own."


class ModelView(StandaloneStep):
    """Chooses a model and a dataset, and shows their contents.

    `model_view.model` is the chosen `Model`, `model_view.setup` the settings of jobs.
    """

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
            placeholder="Sample, name, path or package.module:factory",
        )
        self.example_inputs = ChoiceField(
            lambda text: example_options(sources, text),
            label="Example input",
            list_label="Arrays of the notebook",
            placeholder="only for modules of the notebook",
            description="An array or tensor; its first axis is the batch. Several: a, b",
        )
        self.dataset = ChoiceField(
            lambda text: dataset_options(sources, text),
            label="Dataset",
            list_label="Datasets",
            placeholder="that of the sample",
            description="A sample, a file, a name of the notebook, or two: inputs, target",
        )
        self.target = ChoiceField(
            lambda _: target_options(self.dataset.value),
            label="Target column",
            list_label="Columns of the file",
            placeholder="the column to predict",
            description="All other columns are inputs, and must hold numbers",
        )
        self._show_target()
        self.card = ModelCard(hint=CARD_HINT)
        self.layers = LayerTable(hint=LAYERS_HINT)
        self.data = DataView(hint=DATA_HINT)
        self.model: Model | None = None
        self._chosen = ""
        chosen = [self.field, self.example_inputs, self.dataset, self.target]
        fields = area("wb-side", [*chosen, self.card])
        self.sections = sections(self.controller, "model")
        tasks = area("wb-tasks", self.sections)
        panel = area("wb-columns", [fields, area("wb-main", [self.layers, self.data, tasks])])
        super().__init__(children=[*alone, area("wb-step-panel wb-step-model", [panel])])
        self.controller.views.add(ModelStepView(self))
        self.field.observe(self._on_field, "value")
        self.example_inputs.observe(self._on_examples, "value")
        self.dataset.observe(self._on_dataset, "value")
        self.target.observe(self._on_target, "value")
        self._report_unreadable()
        self._ready(model)

    def choose(self, model: Any) -> None:
        """Choose a model as if its name had been typed."""
        found = model_or_name(model)
        name = found.name if isinstance(found, Model) else found
        self._chosen = name
        self.field.value = name
        self.controller.choose_model(found)

    def choose_dataset(self, dataset: str, target: str = "") -> None:
        """Choose a dataset as if it had been typed; `target`: target column of a .csv file."""
        self.target.value = target
        self.dataset.value = dataset

    def _report_unreadable(self) -> None:
        """Report objects of the notebook that cannot be offered."""
        self.field.description = unreadable(self.controller.sources)

    def _on_field(self, change: Any) -> None:
        if change.new != self._chosen:
            self._chosen = change.new
            self.controller.choose_model(change.new)

    def _on_examples(self, change: Any) -> None:
        if change.new.strip() == self.controller.setup.example_inputs:
            return
        self.controller.setup.example_inputs = change.new.strip()
        if self._chosen:
            self.controller.choose_model(self._chosen)

    def _on_dataset(self, _: Any) -> None:
        # The column of the previous file is reset, unless this one has a column of that name.
        if self.target.value not in csv_columns(self.dataset.value):
            self.target.value = ""
        self._show_target()
        self._choose_dataset()

    def _on_target(self, _: Any) -> None:
        if is_csv(self.dataset.value):
            self._choose_dataset()

    def _choose_dataset(self) -> None:
        source = self.dataset.value
        self.controller.choose_dataset(source, self.target.value if is_csv(source) else "")

    def _show_target(self) -> None:
        """Show the field of the target column where there is one to choose."""
        self.target.layout.display = None if is_csv(self.dataset.value) else "none"
        self.target.look("")


class ModelStepView(View):
    """Shows the model, its layers and its data."""

    def __init__(self, step: ModelView) -> None:
        self._step = step

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self._step.model = model
        self._step.field.problem = problem
        if model is None:
            self._step.card.clear("" if problem else CARD_HINT)
        else:
            self._step.card.show(model)

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        if rows is None:
            self._step.layers.clear(LOADING_HINT if loading else LAYERS_HINT)
        else:
            self._step.layers.show(rows)

    def show_verdict(self, verdict: str) -> None:
        self._step.card.verdict = verdict

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        if preview is None:
            self._step.data.clear("" if problem else DATA_HINT, problem)
        else:
            self._step.data.show(preview, problem)
