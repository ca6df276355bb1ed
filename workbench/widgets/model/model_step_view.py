"""Shows the chosen model, its layers and its data in the step Model."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.controller.background.model_check import CHECKING, WAITING
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.model.data_preview import DataPreview
from workbench.controller.model.inspection import LayerRow, with_frozen
from workbench.controller.model.sources import ExampleProblem, LossProblem, lacks_example
from workbench.controller.view import View
from workbench.models import Model
from workbench.widgets.model import hints
from workbench.widgets.model.data_view import DataView
from workbench.widgets.model.layer_table import LayerTable
from workbench.widgets.model.model_card import ModelCard
from workbench.widgets.model.model_fields import ModelFields
from workbench.widgets.model.own_data import OwnData


class ModelStepView(View):
    """Shows the model, its layers and its data."""

    def __init__(
        self,
        typed: TypedSettings,
        fields: ModelFields,
        card: ModelCard,
        layers: LayerTable,
        data: DataView,
        own_data: OwnData,
    ) -> None:
        self.model: Model | None = None
        self._typed = typed
        self._fields = fields
        self._card = card
        self._layers = layers
        self._data = data
        self._own_data = own_data
        self._rows: Sequence[LayerRow] = ()
        self._verdict = ""
        typed.observe(self._show_rows)

    def show_model(self, model: Model | None, problem: str = "") -> None:
        self.model = model
        of_examples = isinstance(problem, ExampleProblem)
        wrong = self._fields.example_inputs if of_examples else self._fields.model
        lacking = lacks_example(problem)
        for field in (self._fields.model, self._fields.example_inputs):
            field.problem = problem if field is wrong and not lacking else ""
        self._fields.note_shown("model")
        described = hints.NEEDED_INPUTS if lacking else hints.OF_EXAMPLE_INPUTS
        self._fields.example_inputs.description = described
        if model is None:
            self._card.clear("" if problem else hints.CARD_HINT)
        else:
            self._own_data.note_loaded(model.name, self._fields.model.value)
            self._card.show(model)

    def show_layers(self, rows: Sequence[LayerRow] | None, *, loading: bool = False) -> None:
        self._rows = rows or ()
        if rows is None:
            self._layers.clear(hints.LOADING_HINT if loading else hints.LAYERS_HINT)
        else:
            self._show_rows()

    def _show_rows(self) -> None:
        """The layers, with those that are frozen by choice."""
        rows, model = self._rows, self.model
        if rows and model is not None:
            trained = self._typed.trained.names
            self._layers.show(with_frozen(rows, model.parameter_names, trained))
            self._fill_verdict()

    def show_verdict(self, verdict: str) -> None:
        self._verdict = verdict
        self._fill_verdict()
        self._layers.checked = verdict not in ("", WAITING, CHECKING)

    def _fill_verdict(self) -> None:
        """With what is frozen by choice, which the check of the model does not know."""
        chosen = self._typed.trained.sentence if self._verdict else ""
        self._card.verdict = f"{self._verdict} {chosen}".rstrip()

    def show_data(self, preview: DataPreview | None, problem: str = "") -> None:
        self._fields.note_shown("data")
        # Of a loss the field is in Train.
        wrong = None if isinstance(problem, LossProblem) else self._fields.of_data_problem()
        for field in self._fields.of_data:
            field.problem = problem if field is wrong else ""
        in_train = isinstance(problem, LossProblem) and "loss" in self._typed.texts
        elsewhere = problem if wrong is None and not in_train else ""
        if elsewhere and isinstance(problem, LossProblem):
            elsewhere = f"{problem} Its field, Loss function, is in the step Train."
        if preview is None:
            self._data.clear(hints.DATA_HINT, elsewhere)
        else:
            self._data.show(preview, elsewhere)
