"""The rows of the test split that a run predicted worst, with their data."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from workbench.data import Dataset, load_saved_dataset
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worst_predictions import PredictionKind, read_worst_predictions


class WorstPrediction(NamedTuple):
    """One row of the test split with its prediction."""

    row: int
    """Its index in `run.dataset.test`."""
    loss: float
    """Loss of the row as a single-row batch; NaN: not finite."""
    kind: PredictionKind
    """"class", "classes" (by position), "probabilities" (of bce_with_logits) or "values"."""
    target: np.ndarray
    """As in the dataset."""
    prediction: np.ndarray
    """Class numbers, int64, or float64; of the target's shape, or one-dimensional where only the
    first 1,024 values were recorded."""
    probability: float
    """Probability of the predicted class, 0 to 1; NaN if there is none."""
    inputs: tuple[np.ndarray, ...]
    """The row, one array per input of the model."""

    def __repr__(self) -> str:
        return (
            f"WorstPrediction(row={self.row}, loss={self.loss:.4g}, target={_short(self.target)}, "
            f"prediction={_short(self.prediction)})"
        )


def worst_predictions(folder: RunFolder, data: Dataset | None = None) -> list[WorstPrediction]:
    """See `Run.worst_predictions`.

    Args:
        folder: of the run.
        data: its dataset, where it is known; None: it is read.
    """
    record = read_worst_predictions(folder)
    if record is None or not record.rows:
        return []
    test = (load_saved_dataset(folder.data_path) if data is None else data).test
    if test is None:
        return []
    return [
        WorstPrediction(
            row=one.row,
            loss=_number(one.loss),
            kind=record.kind,
            target=np.array(test.target[one.row]),
            prediction=_predicted(one.prediction, record.kind, test.target[one.row]),
            probability=_number(one.probability),
            inputs=tuple(np.array(array[one.row]) for array in test.inputs),
        )
        for one in record.rows
        if one.row < len(test)
    ]


def _predicted(values: list[float | None], kind: PredictionKind, target: np.ndarray) -> np.ndarray:
    known = np.array([_number(value) for value in values], np.float64)
    if kind in ("class", "classes"):
        known = np.nan_to_num(known).astype(np.int64)
    if kind == "class":
        return known.reshape(()) if known.size == 1 else known
    shape = np.shape(target)
    return known.reshape(shape) if known.size == math.prod(shape) else known


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _short(value: np.ndarray) -> str:
    return np.array2string(np.asarray(value), threshold=6, edgeitems=3, precision=4)
