"""Choosing a model: the field, the card and the layers, and the loading behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workbench.models import Model, load_model
from workbench.widgets.choice_field import ChoiceField
from workbench.widgets.layer_table import LayerTable
from workbench.widgets.model_card import ModelCard
from workbench.widgets.request_thread import RequestThread

CARD_HINT = "Choose a sample, or type the path of an .onnx file or package.module:factory."
LAYERS_HINT = "The layers of the model that you choose appear here."


class ModelChoice:
    """Loads what is chosen, off the kernel's own thread, and shows it.

    Looking at a sample needs no PyTorch, but counting its layers does, and importing that takes
    seconds; so the card comes at once and the layers follow.
    """

    def __init__(
        self, on_loaded: Callable[[Model], None], on_error: Callable[[Exception], None]
    ) -> None:
        """Make the widgets, with nothing chosen.

        Args:
            on_loaded: told of each model that was loaded, from another thread.
            on_error: gets what went wrong.
        """
        self.field = ChoiceField(
            label="Model",
            list_label="Samples",
            placeholder="Sample, path or package.module:factory",
            options=sample_options(),
        )
        self.card = ModelCard(hint=CARD_HINT)
        self.layers = LayerTable(hint=LAYERS_HINT)
        self._on_loaded = on_loaded
        self._lock = threading.RLock()
        self._source = ""
        self._model: Model | None = None
        self._loader = RequestThread("workbench-model", on_error)
        self.field.observe(self._on_chosen, "value")

    def choose(self, model: Model | str) -> None:
        """Choose a model as if its name had been typed."""
        if isinstance(model, Model):
            with self._lock:
                self._source, self._model = model.name, model
            self._on_loaded(model)
            model = model.name
        self.field.value = model

    def load(self) -> Model | None:
        """The model of the field, loaded if it is not yet; None while the field is empty.

        Raises:
            ModelError: it cannot be loaded.
        """
        source = self.field.value.strip()
        with self._lock:
            if source != self._source or self._model is None:
                self._source, self._model = source, None
                if source:
                    self._model = load_model(source)
                    self._on_loaded(self._model)
            return self._model

    def close(self) -> None:
        self._loader.close()

    def _on_chosen(self, _: Any) -> None:
        self._loader.ask(self._show)

    def _show(self) -> None:
        if not self.field.value.strip():
            self.card.clear(CARD_HINT)
            self.layers.clear(LAYERS_HINT)
            return
        self.layers.clear("Building the model to look at its layers …")
        try:
            model = self.load()
        except Exception:
            self.card.clear(CARD_HINT)
            self.layers.clear(LAYERS_HINT)
            raise
        if model is not None:
            self.card.show(model)
            self.layers.show(model.layers())


def sample_options() -> list[dict[str, str]]:
    """The samples, as options of the field: the first sentence of the card is the detail."""
    from sample_models import SAMPLES

    return [
        {"value": name, "detail": sample.card.partition(". ")[0]}
        for name, sample in SAMPLES.items()
    ]
