"""The rows that a run predicted worst, prepared for display, and the names of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workbench.controller.model.row_display import (
    COLUMNS,
    as_cells,
    as_number,
    as_pictures,
    as_symbols,
    as_text,
    class_name,
    class_names,
    is_text,
)
from workbench.data import Dataset
from workbench.display.number_format import loss_text
from workbench.errors import WorkbenchError
from workbench.runs import Run
from workbench.runs.record.worst_predictions import WorstPrediction, worst_predictions

SHOWN_VALUES = 4
"""Numbers shown of a target with many."""
SHOWN_POSITIONS = 256
"""Positions shown of a text."""


class ShownRow(NamedTuple):
    """One row."""

    row: int
    """Index in the test split."""
    loss: str
    target: str
    """Name of the class or number; empty where pictures or symbols show it."""
    prediction: str
    picture: np.ndarray | None
    """Picture of the input; None if it is not a picture."""
    target_picture: np.ndarray | None
    predicted_picture: np.ndarray | None
    text: str
    """Text of the input; empty if it is not text."""
    target_symbols: tuple[str, ...]
    """Target of each position of a text; "·" where there is none."""
    predicted_symbols: tuple[str, ...]
    cells: tuple[str, ...]
    """The first values of the input; empty where a picture or a text shows it."""
    columns: tuple[str, ...] = ()
    """Names of the cells, where they are columns of a file."""


class WorstRowsReader:
    """Reads the records of worst rows; caches the datasets of the runs."""

    def __init__(self) -> None:
        self._known: dict[str, Dataset] = {}

    def clear(self) -> None:
        """Forget the datasets."""
        self._known.clear()

    def classes(self, run: Run) -> list[str]:
        """Names of the classes of the run's dataset; empty if it has none or is missing."""
        try:
            return class_names(self._dataset(run).classes)
        except WorkbenchError:
            return []

    def rows(self, run: Run) -> tuple[list[ShownRow], str]:
        """The rows of the last evaluation, and an error message if they cannot be read."""
        try:
            data = self._dataset(run)
            return shown_rows(worst_predictions(run.folder, data), data), ""
        except WorkbenchError as error:
            return [], str(error)

    def _dataset(self, run: Run) -> Dataset:
        if run.id not in self._known:
            self._known[run.id] = run.dataset
        return self._known[run.id]


def shown_rows(worst: Sequence[WorstPrediction], data: Dataset) -> list[ShownRow]:
    """Those rows of `data` for display, in their order."""
    if not worst:
        return []
    inputs = np.stack([one.inputs[0] for one in worst])
    pictures = () if data.columns else as_pictures(inputs)
    outputs = _output_pictures(worst)
    return [
        _shown(one, data, pictures[at] if pictures else None, outputs[at] if outputs else None)
        for at, one in enumerate(worst)
    ]


def _output_pictures(worst: Sequence[WorstPrediction]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Target and prediction of each row as pictures in the same shades; empty if they are not
    pictures."""
    if worst[0].kind != "values" or any(one.prediction.shape != one.target.shape for one in worst):
        return []
    both = as_pictures(np.stack([*(w.target for w in worst), *(w.prediction for w in worst)]))
    return list(zip(both[: len(worst)], both[len(worst) :], strict=True))


def _shown(
    one: WorstPrediction,
    data: Dataset,
    picture: np.ndarray | None,
    outputs: tuple[np.ndarray, np.ndarray] | None,
) -> ShownRow:
    vocabulary = data.vocabulary
    text = ""
    if picture is None and vocabulary is not None and is_text(one.inputs[0], vocabulary):
        text = as_text(one.inputs[0][:SHOWN_POSITIONS], vocabulary)
    by_position = one.kind == "classes"
    target, prediction = ("", "") if by_position or outputs else _words(one, data.classes)
    return ShownRow(
        row=one.row,
        loss=loss_text(one.loss),
        target=target,
        prediction=prediction,
        picture=picture,
        target_picture=outputs[0] if outputs else None,
        predicted_picture=outputs[1] if outputs else None,
        text=text,
        target_symbols=_symbols(one.target, data.classes) if by_position else (),
        predicted_symbols=_symbols(one.prediction, data.classes) if by_position else (),
        cells=() if picture is not None or text else as_cells(one.inputs),
        columns=data.columns[:COLUMNS],
    )


def _words(one: WorstPrediction, classes: Sequence[str] | None) -> tuple[str, str]:
    """Target and prediction of a row in words."""
    if one.kind == "class":
        wanted = one.target if one.target.ndim == 0 else one.target.argmax()
        found = class_name(one.prediction, classes)
        sure = "" if np.isnan(one.probability) else f" ({_share_text(one.probability)})"
        return class_name(wanted, classes), f"{found}{sure}"
    if one.kind == "probabilities" and one.prediction.size == 1:
        probability = float(one.prediction.reshape(()))
        likely = probability > 0.5
        share = probability if likely else 1 - probability
        found = class_name(likely, classes)
        return class_name(one.target.reshape(()), classes), f"{found} ({_share_text(share)})"
    return _numbers(one.target), _numbers(one.prediction)


def _share_text(share: float) -> str:
    """In percent; 100 % only where it is that."""
    text = f"{100 * share:.0f} %"
    return "> 99 %" if text == "100 %" and share < 1 else text


def _numbers(values: np.ndarray) -> str:
    shown = [as_number(value) for value in np.ravel(values)[:SHOWN_VALUES].tolist()]
    return ", ".join([*shown, *(["…"] if np.size(values) > SHOWN_VALUES else [])])


def _symbols(numbers: np.ndarray, classes: Sequence[str] | None) -> tuple[str, ...]:
    """Symbol of each position; numbers if the classes have no names."""
    flat = np.ravel(numbers)[:SHOWN_POSITIONS]
    if classes is None:
        return tuple("·" if value < 0 else str(value) for value in flat.tolist())
    return as_symbols(flat, classes)
