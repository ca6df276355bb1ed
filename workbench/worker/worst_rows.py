"""Finds the rows that an engine predicts worst, while they are evaluated batch by batch."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.run_folder.worst_predictions import MOST_ROWS, MOST_VALUES, PredictionKind
from workbench.worker.float_digits import rounded
from workbench.worker.row_losses import class_axis, row_losses


class _Row(NamedTuple):
    row: int
    loss: float
    """NaN and infinity sort first."""
    output: np.ndarray
    target: np.ndarray

    @property
    def rank(self) -> float:
        return self.loss if math.isfinite(self.loss) else math.inf


class WorstRows:
    """Keeps the `MOST_ROWS` rows of the highest loss, by the first loss and its output."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._seen = 0
        self._rows: list[_Row] = []

    def add(self, output: np.ndarray, target: np.ndarray) -> None:
        """Add the next batch; arrays as in `row_losses`."""
        first, self._seen = self._seen, self._seen + len(target)
        losses = row_losses(self._loss, output, target)
        finite = np.where(np.isfinite(losses), losses, np.inf)
        if self._loss.name in CLASS_LOSSES and target.dtype.kind != "f":
            # Rows without a label that counts have no loss and no prediction that counts.
            counts = target != self._loss.ignore_index
            if self._loss.weight is not None:
                weight = np.asarray(self._loss.weight)
                counts = counts & (weight[np.where(counts, target, 0)] > 0)
            labelled = counts.reshape(len(target), -1).any(axis=1)
            finite = np.where(labelled, finite, -np.inf)
        least = self._rows[-1].rank if len(self._rows) == MOST_ROWS else -math.inf
        order = np.argsort(-finite, kind="stable")[:MOST_ROWS]
        found = [
            _Row(first + int(at), float(losses[at]), output[at].copy(), target[at].copy())
            for at in order
            if finite[at] > least
        ]
        if found:
            every = [*self._rows, *found]
            self._rows = sorted(every, key=lambda one: (-one.rank, one.row))[:MOST_ROWS]

    @property
    def kind(self) -> PredictionKind:
        """Kind of the prediction of a row."""
        if self._loss.name == "bce_with_logits":
            return "probabilities"
        if self._loss.name not in CLASS_LOSSES:
            return "values"
        return "class" if not self._rows or self._classes(self._rows[0]).ndim == 0 else "classes"

    def records(self) -> list[dict[str, Any]]:
        """For JSON, see `workbench.run_folder.worst_predictions.WorstRow`; the worst first."""
        return [self._record(row) for row in self._rows]

    def _record(self, row: _Row) -> dict[str, Any]:
        probability = None
        if self._loss.name == "bce_with_logits":
            prediction = 1 / (1 + np.exp(-row.output.astype(np.float64)))
        elif self._loss.name in CLASS_LOSSES:
            prediction = self._classes(row)
            probability = self._probability(row) if prediction.ndim == 0 else None
        else:
            prediction = row.output
        return {
            "row": row.row,
            "loss": rounded(row.loss),
            "prediction": [rounded(value) for value in prediction.ravel()[:MOST_VALUES].tolist()],
            "probability": probability,
        }

    def _classes(self, row: _Row) -> np.ndarray:
        """The predicted classes of one row, without the axis of the batch."""
        batch = row.output[np.newaxis], row.target[np.newaxis]
        return np.asarray(row.output.argmax(axis=class_axis(*batch) - 1))

    def _probability(self, row: _Row) -> float | None:
        scores = row.output.astype(np.float64)
        if self._loss.name == "cross_entropy":
            shifted = np.exp(scores - scores.max())
            share = float((shifted / shifted.sum()).max())
        else:
            share = math.exp(min(0.0, float(scores.max())))
        return rounded(share)
