"""Loss and accuracy of an engine over the test split."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workbench.data import Split
from workbench.engines.base import Engine
from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.settings.config import TrainingConfig


class EvaluationResult(NamedTuple):
    """What an engine reached on a split."""

    loss: float
    """As PyTorch gives it for the whole split as one batch; NaN where no label counts."""
    accuracy: float | None
    """Share of the first loss's targets predicted right, 0 to 1; None unless it classifies."""

    def record(self) -> dict[str, float | None]:
        """For JSON, which has no NaN and no infinity."""
        return {**self._asdict(), "loss": self.loss if math.isfinite(self.loss) else None}


class _Mean:
    """The mean of one loss over batches, each of which counts as much as in PyTorch's mean."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._sum = 0.0
        self._weight = 0.0

    def add(self, value: float, target: np.ndarray) -> None:
        weight = self._weight_of(target)
        # The mean of no label is NaN in PyTorch and 0 on device; it adds nothing to the whole.
        if weight:
            self._sum += value * weight
            self._weight += weight

    @property
    def value(self) -> float:
        return self._sum / self._weight if self._weight else math.nan

    def _weight_of(self, target: np.ndarray) -> float:
        """What PyTorch's mean of the batch is divided by, up to a factor that all batches share.

        Of class numbers, how many count, each as much as its class weighs; else the rows.
        """
        numbers = self._loss.name in CLASS_LOSSES and target.dtype.kind != "f"
        if self._loss.own or not numbers:
            return float(len(target))
        labels = target[target != self._loss.ignore_index]
        if self._loss.weight is None:
            return float(labels.size)
        return float(np.take(np.asarray(self._loss.weight, np.float64), labels).sum())


def evaluate(
    engine: Engine, split: Split, config: TrainingConfig, stop_wanted: Callable[[], bool]
) -> EvaluationResult | None:
    """Evaluate every sample of `split`, in order, in batches of the training batch size.

    The loss of a function of the user's own is the mean over the rows of the batches' losses.

    Returns:
        None when a stop was wanted before the end.
    """
    losses = config.losses
    means = [_Mean(loss) for loss in losses]
    right = predictions = 0
    for batch in split.in_order(config.batch_size):
        if stop_wanted():
            return None
        found = engine.evaluate(batch)
        # A function that is the only loss may have several targets.
        for mean, term, target in zip(means, found.losses, batch.targets, strict=False):
            mean.add(term, target)
        hits = _hits(losses[0], found.output, batch.target)
        if hits is not None:
            right += int(hits.sum())
            predictions += hits.size
    loss = sum(mean.value for mean in means)
    return EvaluationResult(loss, right / predictions if predictions else None)


def _hits(loss: Loss, output: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Which targets are predicted right: bool, one for each that counts."""
    if loss.own:
        return None
    if loss.name in CLASS_LOSSES:
        if target.dtype.kind == "f":
            return np.asarray(output.argmax(axis=1) == target.argmax(axis=1))
        classes_last = output.ndim >= 3 and output.shape[:-1] == target.shape
        predicted = output.argmax(axis=-1 if classes_last else 1)
        return np.asarray((predicted == target)[target != loss.ignore_index])
    if loss.name == "bce_with_logits":
        return np.asarray((output > 0) == (target > 0.5))
    return None
