"""Loss and accuracy of an engine over the test split."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workbench.config import TrainingConfig
from workbench.data import Split
from workbench.engines.base import Engine
from workbench.loss import CLASS_LOSSES, Loss


class EvaluationResult(NamedTuple):
    """What an engine reached on a split."""

    loss: float
    """Mean over the samples."""
    accuracy: float | None
    """Share of the first loss's targets predicted right, 0 to 1; None unless it classifies."""


def evaluate(
    engine: Engine, split: Split, config: TrainingConfig, stop_wanted: Callable[[], bool]
) -> EvaluationResult | None:
    """Evaluate every sample of `split`, in order, in batches of the training batch size.

    Returns:
        None when a stop was wanted before the end.
    """
    loss_sum = 0.0
    samples = right = predictions = 0
    losses = config.losses
    for batch in split.in_order(config.batch_size):
        if stop_wanted():
            return None
        loss, output = engine.evaluate(batch)
        loss_sum += loss * len(batch.target)
        samples += len(batch.target)
        hits = _hits(losses[0], output, batch.target)
        if hits is not None:
            right += int(hits.sum())
            predictions += hits.size
    return EvaluationResult(loss_sum / samples, right / predictions if predictions else None)


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
