"""The loss of a split, summed up over batches, beside PyTorch's of the split as one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.data import Batch, Split
from workbench.engines.base import Engine, Evaluation
from workbench.engines.torch_base.torch_losses import TotalLoss
from workbench.errors import EngineError
from workbench.losses.loss_list import as_losses
from workbench.settings.config import make_config
from workbench.worker.evaluation import EvaluationResult, evaluate

ROWS, CLASSES, BATCH = 23, 4, 5
TOLERANCE = 1e-6
RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(ROWS, CLASSES)).astype(np.float32)
VALUES = RANDOM.normal(size=(ROWS, CLASSES)).astype(np.float32)
SHARES = RANDOM.dirichlet(np.ones(CLASSES), ROWS).astype(np.float32)
LABELS = RANDOM.integers(0, CLASSES, ROWS)
LABELS[RANDOM.random(ROWS) < 0.5] = -100
LABELS[:BATCH] = -100
"""Of the first batch no label counts, of the others some."""
WEIGHT = (0.1, 3.0, 0.0, 1.0)
PLACES = RANDOM.normal(size=(ROWS, 3, CLASSES)).astype(np.float32)
PLACE_LABELS = np.where(
    RANDOM.random((ROWS, 3)) < 0.6, -100, RANDOM.integers(0, CLASSES, (ROWS, 3))
)


class Given(Engine):
    """Gives the outputs that it is fed, and their losses by PyTorch."""

    def __init__(self, losses: Any, outputs: int) -> None:
        self.loss = TotalLoss(as_losses(losses), [str(index) for index in range(outputs)])

    def evaluate(self, batch: Batch) -> Evaluation:
        outputs = [torch.from_numpy(array) for array in batch.inputs]
        terms = self.loss.terms(outputs, [torch.from_numpy(array) for array in batch.targets])
        values = tuple(term.item() for term in terms)
        return Evaluation(sum(values), batch.inputs[0], values)


Given.__abstractmethods__ = frozenset()


def whole(outputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], loss: Any) -> float:
    """The loss of PyTorch over all rows at once."""
    total = TotalLoss(as_losses(loss), [str(index) for index in range(len(outputs))])
    given = [torch.from_numpy(array) for array in outputs]
    return total(given, [torch.from_numpy(array) for array in targets]).item()


def over_batches(
    outputs: Sequence[np.ndarray], targets: Sequence[np.ndarray], loss: Any
) -> EvaluationResult:
    config = make_config({"engine": "fake", "loss": loss, "batch_size": BATCH})
    engine = Given(config.losses, len(outputs))
    found = evaluate(engine, Split(outputs, tuple(targets)), config, lambda: False)
    assert found is not None
    return found


def own(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).abs().mean()


Loss = wb.Loss
CASES: dict[str, tuple[Any, Sequence[np.ndarray], Sequence[np.ndarray]]] = {
    "cross_entropy": ("cross_entropy", [LOGITS], [LABELS]),
    "weight": (Loss("cross_entropy", weight=WEIGHT), [LOGITS], [LABELS]),
    "ignore_index": (Loss("cross_entropy", ignore_index=2), [LOGITS], [np.abs(LABELS) % CLASSES]),
    "smoothing": (Loss("cross_entropy", label_smoothing=0.2), [LOGITS], [LABELS]),
    "smoothing and weight": (
        Loss("cross_entropy", label_smoothing=0.2, weight=WEIGHT, factor=0.3),
        [LOGITS],
        [LABELS],
    ),
    "probabilities": (Loss("cross_entropy", weight=WEIGHT), [LOGITS], [SHARES]),
    "classes last": (Loss("cross_entropy", weight=WEIGHT), [PLACES], [PLACE_LABELS]),
    "classes on axis 1": ("cross_entropy", [PLACES.transpose(0, 2, 1).copy()], [PLACE_LABELS]),
    "nll": (Loss("nll", weight=WEIGHT), [LOGITS], [LABELS]),
    "mse": ("mse", [LOGITS], [VALUES]),
    "l1": (Loss("l1", factor=2), [LOGITS], [VALUES]),
    "smooth_l1": (Loss("smooth_l1", beta=0.5), [LOGITS], [VALUES]),
    "bce_with_logits": (
        Loss("bce_with_logits", weight=WEIGHT, pos_weight=2.0),
        [LOGITS],
        [SHARES],
    ),
    "own": (own, [LOGITS], [VALUES]),
    "several": (
        [Loss("cross_entropy", weight=WEIGHT, factor=0.5), "mse", "cross_entropy", own],
        [LOGITS, VALUES, PLACES, VALUES],
        [LABELS, LOGITS, PLACE_LABELS, LOGITS],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_pytorch_over_the_whole_split(name: str) -> None:
    loss, outputs, targets = CASES[name]
    found, expected = over_batches(outputs, targets, loss).loss, whole(outputs, targets, loss)
    difference = abs(found - expected)
    assert difference < TOLERANCE * max(1, abs(expected)), f"{found} and {expected}"


def test_it_is_no_number_where_no_label_counts_and_json_takes_it() -> None:
    found = over_batches([LOGITS], [np.full(ROWS, -100)], "cross_entropy")
    assert math.isnan(found.loss)
    assert found.accuracy is None
    assert found.record() == {"loss": None, "accuracy": None}


def test_an_engine_without_layer_statistics_is_reported() -> None:
    batch = Batch((LOGITS[:3],), VALUES[:3])
    with pytest.raises(EngineError, match="Given cannot record layer statistics"):
        Given("mse", 1).observed_step(batch)


def test_the_worst_rows_are_known_unless_the_loss_is_a_function() -> None:
    found = evaluate(Given("mse", 1), Split([LOGITS], VALUES), make_config({"loss": "mse"}), bool)
    assert found is not None
    assert found.worst is not None
    losses = ((LOGITS - VALUES) ** 2).mean(axis=1)
    assert found.worst.records()[0]["row"] == losses.argmax()
