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
    """The data of the last model that is no sample; they come back with it."""

    def __init__(self) -> None:
        self._model = ""
        """That model, from when it is loaded until a sample is chosen."""
        self._away: tuple[str, DataTexts] | None = None
        """It and its data, while a sample is chosen."""

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
        if owner and is_sample(source):
            self._away, self._model = (owner, typed), ""
            return DataTexts()
        if self._away is None or self._away[0] != source or typed.dataset:
            return None
        (_, data), self._away = self._away, None
        return data


def is_sample(name: str) -> bool:
    """Whether a model of this name brings its own data."""
    from sample_models import SAMPLES

    return name in SAMPLES
