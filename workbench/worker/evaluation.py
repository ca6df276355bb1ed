"""Loss and metrics of an engine over the test split."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.data import Batch, Split
from workbench.engines.base import Evaluation
from workbench.losses.loss import Loss
from workbench.losses.mean_divisor import mean_divisor
from workbench.settings.config import TrainingConfig
from workbench.worker.metrics import ClassMetrics, ValueMetrics, metrics_of
from workbench.worker.worst_rows import WorstRows


class Evaluator(Protocol):
    """An engine, or another model that can be evaluated."""

    def evaluate(self, batch: Batch) -> Evaluation:
        """Loss and output of a batch in evaluation mode."""
        ...


class EvaluationResult(NamedTuple):
    """Loss and metrics of an engine on a split."""

    loss: float
    """Equal to PyTorch's loss of the whole split as one batch; NaN if all labels are ignored."""
    accuracy: float | None
    """Accuracy by the targets of the first loss, 0 to 1, of each logit for bce_with_logits; None if
    the loss has no accuracy, or all labels are ignored."""
    metrics: dict[str, Any] = {}  # noqa: RUF012 -- never written to
    """Further metrics of the first loss's output, see `workbench.worker.metrics`."""
    worst: WorstRows | None = None
    """The rows of the highest loss, where losses of rows are known: not of a user's function."""

    def record(self) -> dict[str, Any]:
        """For JSON: NaN and infinity become None."""
        loss = self.loss if math.isfinite(self.loss) else None
        return {"loss": loss, "accuracy": self.accuracy, **self.metrics}


class _Mean:
    """The mean of one loss over batches, weighted as in PyTorch's mean over the whole split."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._sum = 0.0
        self._weight = 0.0

    def add(self, value: float, target: np.ndarray) -> None:
        weight = mean_divisor(self._loss, target)
        # Without a label the mean is NaN in PyTorch and 0 on device.
        if weight:
            self._sum += value * weight
            self._weight += weight

    @property
    def value(self) -> float:
        return self._sum / self._weight if self._weight else math.nan


def evaluate(
    engine: Evaluator, split: Split, config: TrainingConfig, stop_requested: Callable[[], bool]
) -> EvaluationResult | None:
    """Evaluate all samples of `split`, in order, in batches of the training batch size.

    For a custom loss function the result is the mean of the batch losses, weighted by batch size.

    Returns:
        None if a stop was requested before the end.
    """
    losses = config.losses
    means = [_Mean(loss) for loss in losses]
    metrics = metrics_of(losses[0])
    worst = None if losses[0].custom else WorstRows(losses[0])
    for batch in split.in_order(config.batch_size):
        if stop_requested():
            return None
        result = engine.evaluate(batch)
        # A single custom loss function may have several targets.
        for mean, term, target in zip(means, result.losses, batch.targets, strict=False):
            mean.add(term, target)
        if metrics is not None:
            metrics.add(result.output, batch.target)
        if worst is not None:
            worst.add(result.output, batch.target)
    loss = sum(mean.value for mean in means)
    match metrics:
        case ClassMetrics():
            return EvaluationResult(loss, metrics.accuracy, metrics.record(means[0].value), worst)
        case ValueMetrics():
            return EvaluationResult(loss, None, metrics.record(), worst)
    return EvaluationResult(loss, None)
