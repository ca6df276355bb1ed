"""Loads and inspects the chosen model and dataset on threads of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from workbench.controller.background.model_check import ModelCheck, ShowIfCurrent
from workbench.controller.forms.loss_suggestion import LossSuggestion
from workbench.controller.model.data_preview import data_preview
from workbench.controller.model.inspection import layer_rows
from workbench.controller.model.module_stamp import ModuleStamp
from workbench.controller.model.sources import ExampleProblem, LossProblem, Sources
from workbench.controller.request_thread import RequestThread
from workbench.controller.setup import Setup
from workbench.controller.state import NOTHING_CHOSEN, sentence_of
from workbench.controller.view import View
from workbench.data import Dataset, check_fit
from workbench.errors import ConfigError, DataError, ExampleInputsError, LossFitError, ModelError
from workbench.models import Model


class _Loaded(NamedTuple):
    """The model that was loaded or given last."""

    model: Model
    source: str
    example_inputs: str | None
    """None: the model itself was given."""
    stamp: ModuleStamp | None = None
    """Of the notebook's module that it is a copy of."""


class ModelLoader:
    """Loads the chosen model and dataset, and shows them in a view.

    Loading a sample needs no PyTorch, but counting its layers does, and importing that takes
    seconds; so the view gets the model immediately, the layers later, and the check last.

    Each choice is loaded on a thread of its own, so that it never waits for the one before, which
    may take minutes and cannot be stopped: it ends by itself, and its results are dropped.
    """

    def __init__(
        self,
        view: View,
        sources: Sources,
        loss: Callable[[Model], Any],
        suggestion: LossSuggestion,
        on_loaded: Callable[[Model], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        """Start with nothing chosen.

        Args:
            view: shows the model, its layers and its data.
            sources: loads the chosen model and dataset.
            loss: returns the loss that a model is to be trained with, as `TrainingConfig` takes it.
            suggestion: chooses a loss where the default one does not fit the data.
            on_loaded: called with each loaded model, on any thread.
            on_error: called with errors.
        """
        self._view = view
        self._sources = sources
        self._loss = loss
        self._checked_loss: Any = None
        """Loss with which the shown data were checked; None: they were not."""
        self._suggestion = suggestion
        self._on_loaded = on_loaded
        self._on_error = on_error
        self._lock = threading.Lock()
        """Protects the fields; never held while something is loaded, so `choose` returns
        immediately."""
        self._load_locks: dict[tuple[str, str], threading.Lock] = {}
        """One by source and example inputs, held while that is loaded, so that none is loaded
        twice."""
        self._chosen = ("", "")
        self._loaded: _Loaded | None = None
        self._dataset = ("", "", "")
        """Dataset, target column and group column, see `Sources.dataset`."""
        self.check = ModelCheck(view, on_error)
        self._choices = {"model": 0, "dataset": 0}
        """Number of choices so far; the results of earlier ones are dropped."""
        self._thread = RequestThread("workbench-model", on_error)
        """Notifies the view, in the order in which results became known."""

    def choose(self, model: Model | str, example_inputs: str = "") -> None:
        """Choose a model, to be loaded and shown; returns immediately.

        Args:
            model: a `Model`, or a source of `Sources.model`; an empty string chooses none.
            example_inputs: see `Sources.model`.
        """
        name = model.name if isinstance(model, Model) else model
        chosen = (name.strip(), example_inputs.strip())
        with self._lock:
            before, self._chosen = self._chosen, chosen
            if isinstance(model, Model):
                self._loaded = _Loaded(model, chosen[0], None)
        if isinstance(model, Model):
            self._on_loaded(model)
        if chosen[0] != before[0]:
            self._suggestion.renew()
        self._begin_model(chosen)

    def choose_dataset(self, dataset: str, target: str = "", groups: str = "") -> None:
        """Choose a dataset, to be shown; returns immediately."""
        before, self._dataset = self._dataset, (dataset.strip(), target.strip(), groups.strip())
        if self._dataset != before:
            self._suggestion.renew()
        self._begin_data()

    def loss_changed(self) -> None:
        """Check again whether the dataset fits, if the loss has changed since."""
        model = self._if_loaded(self._chosen)
        if model is None or self._checked_loss is None:
            return
        if self._loss(model) != self._checked_loss:
            self._begin_data()

    def loading(self, source: str, example_inputs: str = "") -> Callable[[], Model | None]:
        """A function that loads the current `source`, independently of later choices.

        Args:
            source: see `choose`; without one there is no model.
            example_inputs: see `choose`.
        """
        wanted = (source.strip(), example_inputs.strip())
        at_hand = None if self._has_changed(wanted) else self._if_loaded(wanted)
        return lambda: at_hand or self._load(wanted)

    def loading_of(self, setup: Setup) -> Callable[[], Model | None]:
        """A function that loads the model of `setup`, as it is chosen now."""
        return self.loading(setup.model, setup.example_inputs)

    def loading_with_data(self, setup: Setup) -> Callable[[], tuple[Model, Dataset]]:
        """A function that loads the model and the dataset of `setup`, as they are chosen now."""
        find = self.loading_of(setup)

        def load() -> tuple[Model, Dataset]:
            model = find()
            if model is None:
                raise ModelError(NOTHING_CHOSEN)
            return model, self.load_data(model, *setup.chosen_dataset)

        return load

    def _load(self, wanted: tuple[str, str]) -> Model | None:
        """A model, loaded unless it is the last loaded one; None without a source.

        Raises:
            ModelError: it cannot be loaded.
        """
        if not wanted[0]:
            return None
        with self._lock:
            load_lock = self._load_locks.setdefault(wanted, threading.Lock())
        with load_lock:
            model, changed = self._if_loaded(wanted), self._has_changed(wanted)
            if model is not None and not changed:
                return model
            stamp = self._sources.stamp(wanted[0])
            model = self._sources.model(*wanted)
            with self._lock:
                chosen = wanted == self._chosen
                if chosen:
                    self._loaded = _Loaded(model, *wanted, stamp)
        if chosen:
            self._on_loaded(model)
            if changed:
                self._begin_model(wanted)  # it is shown as it is now
        return model

    def _has_changed(self, wanted: tuple[str, str]) -> bool:
        """Whether the notebook's module has changed since it was loaded; not if it is gone."""
        with self._lock:
            loaded = self._loaded
        if loaded is None or loaded.stamp is None or loaded[1:3] != wanted:
            return False
        now = self._sources.stamp(wanted[0])
        return now is not None and not now.matches(loaded.stamp)

    def _if_loaded(self, wanted: tuple[str, str]) -> Model | None:
        """The model, if it is the last that was loaded or given."""
        with self._lock:
            loaded = self._loaded
        if loaded is None or loaded.source != wanted[0]:
            return None
        return loaded.model if loaded.example_inputs in (None, wanted[1]) else None

    def load_data(
        self, model: Model | None, dataset: str, target: str = "", groups: str = ""
    ) -> Dataset:
        """The dataset named, or that of the model; for the others see `Sources.dataset`.

        Raises:
            DataError: there is none, or it cannot be loaded.
        """
        return self._sources.dataset(dataset.strip(), model, target.strip(), groups.strip())

    def close(self) -> None:
        """End the thread; what is being loaded is dropped."""
        for what in self._choices:
            self._newest(what)
        self.check.drop()
        self._thread.close()

    def _begin_model(self, chosen: tuple[str, str]) -> None:
        show = self._newest("model")
        self.check.drop()
        self._load_in_thread("model", show, lambda: self._show(chosen, show))

    def _begin_data(self) -> None:
        show = self._newest("dataset")
        self._load_in_thread("dataset", show, lambda: self._show_data(show))

    def _newest(self, what: str) -> ShowIfCurrent:
        """A new choice: what an earlier one would show is dropped."""
        with self._lock:
            self._choices[what] += 1
            number = self._choices[what]

        def show(action: Callable[[], None]) -> bool:
            self._thread.ask(lambda: action() if number == self._choices[what] else None)
            return number == self._choices[what]

        return show

    def _load_in_thread(self, what: str, show: ShowIfCurrent, work: Callable[[], None]) -> None:
        def report(error: Exception) -> None:
            show(lambda: self._on_error(error))

        thread = RequestThread(f"workbench-load-{what}", report)
        thread.ask(work)
        thread.close()

    def _show(self, chosen: tuple[str, str], show: ShowIfCurrent) -> None:
        if not chosen[0]:
            show(self._show_none)
            self._begin_data()
            return
        show(lambda: self._view.show_layers(None, loading=True))
        try:
            model = self._load(chosen)
        except BaseException as error:  # user code may raise anything
            problem = sentence_of(error)
            if isinstance(error, ExampleInputsError):
                problem = ExampleProblem(problem)
            show(lambda: self._show_none(problem))
            self._begin_data()  # that of the model before is gone
            return
        if model is None or not show(lambda: self._view.show_model(model)):
            return
        self._begin_data()
        rows = layer_rows(model.layers(), model.parameter_shapes)
        if show(lambda: self._view.show_layers(rows)):
            self.check.begin(model, show)

    def _show_data(self, show: ShowIfCurrent) -> None:
        model = self._if_loaded(self._chosen)
        dataset = self._dataset
        if not dataset[0] and (model is None or model.dataset is None):
            show(lambda: self._view.show_data(None))
            return
        data = preview = None
        self._checked_loss = None
        try:
            data = self.load_data(model, *dataset)
            preview = data_preview(data)
            if model is not None:
                # What changes from here on is checked again, so it is read once more.
                self._checked_loss = self._loss(model)
                check_fit(model, data, self._loss(model))
        except BaseException as error:  # user code may raise anything
            if isinstance(error, LossFitError) and self._suggestion.make(model, data):
                return  # it is checked with another loss
            problem = sentence_of(error)
            own = model is not None and model.dataset is not None
            if dataset[0] and own and isinstance(error, DataError):
                problem += " Clear the field Dataset to use the model's own."
            if isinstance(error, LossFitError | ConfigError):  # an option of the loss
                problem = LossProblem(problem)
            show(lambda: self._view.show_data(preview, problem))
            return
        show(lambda: self._view.show_data(preview))

    def _show_none(self, problem: str = "") -> None:
        self._view.show_model(None, problem)
        self._view.show_layers(None)
        self._view.show_verdict("")
