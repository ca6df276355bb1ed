"""Metrics of classification and regression, summed up over batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.losses.class_axis import has_classes_last
from workbench.losses.loss import CLASS_LOSSES, Loss

MAX_CLASSES = 100
"""Largest number of classes of a confusion matrix: a larger one would be unreadable."""


class ClassMetrics:
    """Accuracy and confusion of predicted classes, over any number of batches."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._correct = 0
        self._predictions = 0
        self._confusion: np.ndarray | None = None
        self._is_text = False

    def add(self, output: np.ndarray, target: np.ndarray) -> None:
        """Add a batch.

        Args:
            output: float32, (batch, classes, ...) or (batch, ..., classes); of bce_with_logits
                shaped as the target.
            target: class numbers, int64, or float32, the probabilities of classes on axis 1; of
                bce_with_logits 0 or 1.
        """
        predicted, expected = self._predicted(output, target)
        self._is_text = self._is_text or _is_text(output, target)
        hits = predicted == expected
        self._correct += int(hits.sum())
        self._predictions += hits.size
        classes = self._classes(output, target)
        if classes <= MAX_CLASSES:
            counts = np.bincount(expected * classes + predicted, minlength=classes**2)
            counts = counts.reshape(classes, classes)
            self._confusion = counts if self._confusion is None else self._confusion + counts

    @property
    def accuracy(self) -> float | None:
        return self._correct / self._predictions if self._predictions else None

    def record(self, loss: float) -> dict[str, Any]:
        """For JSON: the confusion matrix, and of a text the perplexity."""
        found: dict[str, Any] = {}
        if self._is_text and _is_log_likelihood(self._loss):
            found["perplexity"] = _exponential(loss)
        if self._confusion is not None and self._predictions:
            found["confusion"] = self._confusion.tolist()
        return found

    def _predicted(self, output: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted and true classes of all targets that count, each int64, one-dimensional."""
        if self._loss.name == "bce_with_logits":
            return (output > 0).ravel().astype(np.int64), (target > 0.5).ravel().astype(np.int64)
        if target.dtype.kind == "f":
            return output.argmax(axis=1).ravel(), target.argmax(axis=1).ravel()
        predicted = output.argmax(axis=_class_axis(output, target))
        counts = target != self._loss.ignore_index
        return predicted[counts], target[counts]

    def _classes(self, output: np.ndarray, target: np.ndarray) -> int:
        if self._loss.name == "bce_with_logits":
            return 2
        return int(output.shape[1 if target.dtype.kind == "f" else _class_axis(output, target)])


class ValueMetrics:
    """R² and mean absolute error of predicted values, over any number of batches."""

    def __init__(self) -> None:
        self._rows = 0
        self._absolute = self._squared = 0.0
        self._sum = self._sum_of_squares = np.zeros(())
        self._values = 0
        self._origin: np.ndarray | None = None

    def add(self, output: np.ndarray, target: np.ndarray) -> None:
        """Add a batch; both arrays (batch, ...), with the same number of values."""
        expected = target.reshape(len(target), -1).astype(np.float64)
        error = output.reshape(expected.shape).astype(np.float64) - expected
        self._absolute += float(np.abs(error).sum())
        self._squared += float((error**2).sum())
        # Relative to the first row: of large targets that vary little, the difference of sums of
        # squares would be rounding error.
        self._origin = expected[0] if self._origin is None else self._origin
        expected = expected - self._origin
        self._sum = self._sum + expected.sum(axis=0)
        self._sum_of_squares = self._sum_of_squares + (expected**2).sum(axis=0)
        self._rows += len(expected)
        self._values += expected.size

    def record(self) -> dict[str, Any]:
        """For JSON: `r2`, 1 - squared error / variance, both summed over the values of a row, and
        `mean_absolute_error`; null where there is none."""
        if not self._values:
            return {"r2": None, "mean_absolute_error": None}
        variance = float((self._sum_of_squares - self._sum**2 / self._rows).sum())
        return {
            "r2": _finite(1 - self._squared / variance) if variance > 0 else None,
            "mean_absolute_error": _finite(self._absolute / self._values),
        }


def metrics_of(loss: Loss) -> ClassMetrics | ValueMetrics | None:
    """The metrics for `loss`; None for a user function."""
    if loss.custom:
        return None
    if loss.name in CLASS_LOSSES or loss.name == "bce_with_logits":
        return ClassMetrics(loss)
    return ValueMetrics()


def _is_log_likelihood(loss: Loss) -> bool:
    """Whether the loss is exactly the mean negative log-likelihood of the classes."""
    changed = loss.factor != 1 or loss.weight is not None or loss.label_smoothing
    return loss.name in CLASS_LOSSES and not changed


def _class_axis(output: np.ndarray, target: np.ndarray) -> int:
    return -1 if has_classes_last(output.shape, target.shape) else 1


def _is_text(output: np.ndarray, target: np.ndarray) -> bool:
    """Whether there is a class for each position of a sequence; an image has two such axes."""
    if target.dtype.kind == "f" or target.ndim < 2:
        return False
    return target.ndim == 2 or has_classes_last(output.shape, target.shape)


def _exponential(value: float) -> float | None:
    try:
        return _finite(math.exp(value))
    except OverflowError:
        return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
