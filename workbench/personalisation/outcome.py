"""Metrics of a model on the held-out examples, before or after training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Prediction(NamedTuple):
    """Prediction of a model for one example."""

    label: str
    """The most probable class."""
    probability: float
    """Probability of that class, 0 to 1."""
    probabilities: dict[str, float]
    """Probability of each class."""


class Outcome(NamedTuple):
    """Metrics of a model on the held-out examples; None or empty if not of this kind."""

    accuracy: float | None = None
    """Share of the held-out images or recordings that get their label, 0 to 1; of a text the share
    of its characters."""
    classes: tuple[str, ...] = ()
    """The examples' labels: the rows of `confusion`."""
    predicted_classes: tuple[str, ...] = ()
    """The classes that the model can predict: the columns of `confusion`. Before training these are
    the base model's own classes; after it, the examples' labels."""
    confusion: np.ndarray | None = None
    """(classes, predicted classes), int64: numbers of held-out examples."""
    predictions: dict[int, Prediction] = {}  # noqa: RUF012 -- never written to
    """By the id of the held-out example."""
    loss: float | None = None
    """For a text: nats per character."""
    perplexity: float | None = None
    """For a text: e to the power of `loss`."""
    prompt: str | None = None
    """For a text: the text that `continuation` continues."""
    continuation: str | None = None
    """For a text: the most probable characters after `prompt`, one by one."""

    def record(self) -> dict[str, Any]:
        """For JSON."""
        confusion = None if self.confusion is None else self.confusion.tolist()
        predictions = {str(number): each._asdict() for number, each in self.predictions.items()}
        return {**self._asdict(), "confusion": confusion, "predictions": predictions}
