"""Loads and inspects the chosen model and dataset on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from workbench.controller.model.data_preview import data_preview
from workbench.controller.model.inspection import layer_rows
from workbench.controller.model.sources import Sources
from workbench.controller.request_thread import RequestThread
from workbench.controller.state import sentence_of
from workbench.controller.view import View
from workbench.data import Dataset, check_fit
from workbench.models import Model


class _Loaded(NamedTuple):
    """The model that was loaded or given last."""

    model: Model
    source: str
    example_inputs: str | None
    """None: the model itself was given."""


class ModelLoader:
    """Loads the chosen model and dataset, and shows them in a view.

    Loading a sample needs no PyTorch, but counting its layers does, and importing that takes
    seconds; so the view gets the model immediately, the layers later, and the check last.
    """

    def __init__(
        self,
        view: View,
        sources: Sources,
        loss: Callable[[Model], Any],
        on_loaded: Callable[[Model], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        """Start with nothing chosen.

        Args:
            view: shows the model, its layers and its data.
            sources: loads the chosen model and dataset.
            loss: returns the loss that a model is to be trained with, as `TrainingConfig` takes it.
            on_loaded: called with each loaded model, on any thread.
            on_error: called with errors.
        """
        self._view = view
        self._sources = sources
        self._loss = loss
        self._checked_loss: Any = None
        """Loss with which the shown data were checked; None: they were not."""
        self._on_loaded = on_loaded
        self._lock = threading.Lock()
        """Protects the fields; never held while something is loaded, so `choose` returns
        immediately."""
        self._load_lock = threading.Lock()
        """Held while a model is loaded, so that none is loaded twice."""
        self._chosen = ("", "")
        self._loaded: _Loaded | None = None
        self._dataset = self._target = ""
        self._thread = RequestThread("workbench-model", on_error)

    def choose(self, model: Model | str, example_inputs: str = "") -> None:
        """Choose a model, to be loaded and shown; returns immediately.

        Args:
            model: a `Model`, or a source of `Sources.model`; an empty string chooses none.
            example_inputs: see `Sources.model`.
        """
        name = model.name if isinstance(model, Model) else model
        with self._lock:
            self._chosen = (name.strip(), example_inputs.strip())
            if isinstance(model, Model):
                self._loaded = _Loaded(model, self._chosen[0], None)
        if isinstance(model, Model):
            self._on_loaded(model)
        self._thread.ask(self._show)

    def choose_dataset(self, dataset: str, target: str = "") -> None:
        """Choose a dataset, to be shown; returns immediately."""
        self._dataset, self._target = dataset.strip(), target.strip()
        self._thread.ask(self._show_data)

    def loss_changed(self) -> None:
        """Check again whether the dataset fits, if the loss has changed since."""
        model = self._if_loaded(self._chosen)
        if model is None or self._checked_loss is None:
            return
        if self._loss(model) != self._checked_loss:
            self._thread.ask(self._show_data)

    def loading(self, source: str, example_inputs: str = "") -> Callable[[], Model | None]:
        """A function that loads the current `source`, independently of later choices.

        Args:
            source: see `choose`; without one there is no model.
            example_inputs: see `choose`.
        """
        wanted = (source.strip(), example_inputs.strip())
        at_hand = self._if_loaded(wanted)
        return lambda: at_hand or self._load(wanted)

    def _load(self, wanted: tuple[str, str]) -> Model | None:
        """A model, loaded unless it is the last loaded one; None without a source.

        Raises:
            ModelError: it cannot be loaded.
        """
        if not wanted[0]:
            return None
        with self._load_lock:
            model = self._if_loaded(wanted)
            if model is not None:
                return model
            model = self._sources.model(*wanted)
            with self._lock:
                chosen = wanted == self._chosen
                if chosen:
                    self._loaded = _Loaded(model, *wanted)
        if chosen:
            self._on_loaded(model)
        return model

    def _if_loaded(self, wanted: tuple[str, str]) -> Model | None:
        """The model, if it is the last that was loaded or given."""
        with self._lock:
            loaded = self._loaded
        if loaded is None or loaded.source != wanted[0]:
            return None
        return loaded.model if loaded.example_inputs in (None, wanted[1]) else None

    def load_data(self, model: Model | None, dataset: str, target: str = "") -> Dataset:
        """The dataset named, or that of the model; `target`: see `Sources.dataset`.

        Raises:
            DataError: there is none, or it cannot be loaded.
        """
        return self._sources.dataset(dataset.strip(), model, target.strip())

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def _show(self) -> None:
        chosen = self._chosen
        if not chosen[0]:
            self._show_none()
            self._show_data()
            return
        self._view.show_layers(None, loading=True)
        try:
            model = self._load(chosen)
        except Exception as error:
            self._show_none(sentence_of(error))
            raise
        if model is None or chosen != self._chosen:
            return
        self._view.show_model(model)
        self._show_data()
        layers, shapes = model.layers(), model.parameter_shapes
        self._view.show_layers(layer_rows(layers, shapes))
        if chosen == self._chosen:
            self._show_check(model)

    def _show_check(self, model: Model) -> None:
        """Show what ONNX Runtime can train; if that is unknown, everything can still be trained."""
        from workbench.check import check

        try:
            found = check(model)
        except Exception as error:
            self._view.show_verdict(f"Not known whether it can be trained: {sentence_of(error)}")
            return
        rows = layer_rows(
            model.layers(), model.parameter_shapes, model.parameters, found.by_layer()
        )
        self._view.show_layers(rows)
        self._view.show_verdict(f"{found.verdict} {found.counts}")

    def _show_data(self) -> None:
        model = self._if_loaded(self._chosen)
        if not self._dataset and (model is None or model.dataset is None):
            self._view.show_data(None)
            return
        preview = None
        self._checked_loss = None
        try:
            data = self.load_data(model, self._dataset, self._target)
            preview = data_preview(data)
            if model is not None:
                self._checked_loss = self._loss(model)
                check_fit(model, data, self._checked_loss)
            self._view.show_data(preview)
        except Exception as error:
            self._view.show_data(preview, sentence_of(error))

    def _show_none(self, problem: str = "") -> None:
        self._view.show_model(None, problem)
        self._view.show_layers(None)
        self._view.show_verdict("")
