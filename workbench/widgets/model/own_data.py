"""Keeps the data that were chosen for a model of one's own while a sample brings its own."""

from __future__ import annotations

from typing import NamedTuple


class DataTexts(NamedTuple):
    """Texts of the fields of example inputs and data."""

    example_inputs: str = ""
    dataset: str = ""
    target: str = ""
    groups: str = ""


class OwnData:
    """The data that were last typed for each model that is no sample; they come back with it."""

    def __init__(self) -> None:
        self._model = ""
        """That model, from when it is loaded until another is chosen."""
        self._kept: dict[str, DataTexts] = {}

    def note_loaded(self, name: str, source: str) -> None:
        """A model of this name was loaded from the text in its field."""
        self._model = "" if is_sample(name) else source

    def forget_model(self) -> None:
        """The data of the last model are replaced, and not kept."""
        self._model = ""

    def for_choice(self, source: str, typed: DataTexts, before: str) -> DataTexts | None:
        """The data to fill in as a model is chosen; None: those that are typed stay.

        Args:
            source: text of the field of the model.
            typed: those of the data.
            before: text of the field of the model until now, which may name none.
        """
        # No sample has example inputs: they are of one that was refused, or is not loaded yet.
        owner = self._model or (before if typed.example_inputs else "")
        if not source or source == owner:
            return None
        if owner and not is_sample(owner):
            self._kept[owner] = typed
        self._model = ""
        if is_sample(source):
            return DataTexts() if owner else None
        kept = self._kept.get(source)
        if kept is None or kept.dataset:
            return kept
        return typed._replace(example_inputs=kept.example_inputs)  # as no others are known


def is_sample(name: str) -> bool:
    """Whether a model of this name brings its own data."""
    from sample_models import SAMPLES

    return name in SAMPLES
