"""Losses of rows beside PyTorch's of each row alone, and the worst of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from workbench.engines.torch_base.torch_losses import TotalLoss
from workbench.losses.loss import Loss
from workbench.losses.loss_list import as_losses
from workbench.run_folder.worst_predictions import MOST_ROWS, MOST_VALUES
from workbench.worker.row_losses import row_losses
from workbench.worker.worst_rows import WorstRows

RANDOM = np.random.default_rng(0)
ROWS, CLASSES, BATCH = 31, 4, 5
LOGITS = (3 * RANDOM.normal(size=(ROWS, CLASSES))).astype(np.float32)
LABELS = RANDOM.integers(0, CLASSES, ROWS)
SHARES = RANDOM.dirichlet(np.ones(CLASSES), ROWS).astype(np.float32)
PLACES = RANDOM.normal(size=(ROWS, 6, CLASSES)).astype(np.float32)
PLACE_LABELS = np.where(
    RANDOM.random((ROWS, 6)) < 0.4, -100, RANDOM.integers(0, CLASSES, (ROWS, 6))
)
PLACE_LABELS[7] = -100
"""A row without any label."""
BITS = RANDOM.integers(0, 2, (ROWS, CLASSES)).astype(np.float32)
WEIGHT = (0.5, 3.0, 0.25, 1.0)
VALUES = RANDOM.normal(size=(ROWS, CLASSES)).astype(np.float32)

CASES: list[tuple[Any, np.ndarray, np.ndarray]] = [
    ("cross_entropy", LOGITS, LABELS),
    (Loss("cross_entropy", weight=WEIGHT, label_smoothing=0.2, factor=3.0), LOGITS, LABELS),
    (Loss("cross_entropy", weight=WEIGHT, label_smoothing=0.2), PLACES, PLACE_LABELS),
    ("cross_entropy", np.moveaxis(PLACES, 2, 1), PLACE_LABELS),
    (Loss("cross_entropy", weight=WEIGHT, label_smoothing=0.1), LOGITS, SHARES),
    (Loss("nll", weight=WEIGHT), LOGITS, LABELS),
    (Loss("bce_with_logits", weight=WEIGHT, pos_weight=2.5), 60 * LOGITS, BITS),
    ("mse", LOGITS, VALUES),
    ("l1", LOGITS, VALUES),
    (Loss("smooth_l1", beta=0.7), LOGITS, VALUES),
    (Loss("smooth_l1", beta=0), LOGITS, VALUES),
]


@pytest.mark.parametrize(("loss", "output", "target"), CASES)
def test_a_rows_loss_is_that_of_the_row_alone(
    loss: Any, output: np.ndarray, target: np.ndarray
) -> None:
    (chosen,) = as_losses(loss)
    total = TotalLoss((chosen,), ["0"])
    expected = [
        total([torch.from_numpy(output[[row]])], [torch.from_numpy(target[[row]])]).item()
        for row in range(ROWS)
    ]
    np.testing.assert_allclose(row_losses(chosen, output, target), expected, rtol=1e-5, atol=1e-6)


def worst_of(loss: Any, output: np.ndarray, target: np.ndarray) -> WorstRows:
    (chosen,) = as_losses(loss)
    worst = WorstRows(chosen)
    for start in range(0, len(output), BATCH):
        worst.add(output[start : start + BATCH], target[start : start + BATCH])
    return worst


@pytest.mark.parametrize(("loss", "output", "target"), CASES)
def test_the_worst_are_those_of_the_highest_loss(
    loss: Any, output: np.ndarray, target: np.ndarray
) -> None:
    (chosen,) = as_losses(loss)
    losses = np.nan_to_num(row_losses(chosen, output, target), nan=-np.inf)
    found = worst_of(loss, output, target).records()
    assert [one["row"] for one in found] == np.argsort(-losses, kind="stable")[:MOST_ROWS].tolist()


def test_a_class_is_predicted_with_its_probability() -> None:
    worst = worst_of("cross_entropy", LOGITS, LABELS)
    assert worst.kind == "class"
    probabilities = torch.softmax(torch.from_numpy(LOGITS), dim=1).numpy()
    for one in worst.records():
        assert one["prediction"] == [float(LOGITS[one["row"]].argmax())]
        assert one["probability"] == pytest.approx(probabilities[one["row"]].max(), rel=1e-5)


@pytest.mark.parametrize("axis", [1, 2])
def test_each_position_has_a_class(axis: int) -> None:
    worst = worst_of("cross_entropy", np.moveaxis(PLACES, 2, axis), PLACE_LABELS)
    assert worst.kind == "classes"
    for one in worst.records():
        assert one["row"] != 7, "it has no label, so nothing is wrong with it"
        assert one["prediction"] == PLACES[one["row"]].argmax(axis=1).tolist()


def test_probabilities_and_values_are_kept_as_they_are() -> None:
    probable = worst_of("bce_with_logits", LOGITS, BITS)
    assert probable.kind == "probabilities"
    first = probable.records()[0]
    expected = 1 / (1 + np.exp(-LOGITS[first["row"]]))
    np.testing.assert_allclose(first["prediction"], expected, rtol=1e-5)
    values = worst_of("mse", LOGITS, VALUES)
    assert values.kind == "values"
    first = values.records()[0]
    np.testing.assert_allclose(first["prediction"], LOGITS[first["row"]], rtol=1e-5)


def test_a_loss_that_is_not_finite_is_the_worst_and_null_in_json() -> None:
    output = LOGITS.copy()
    output[20, 1] = np.nan
    output[4, 2] = np.inf
    found = worst_of("mse", output, VALUES).records()
    assert [one["row"] for one in found[:2]] == [4, 20]
    assert [one["loss"] for one in found[:2]] == [None, None]
    assert found[0]["prediction"][2] is None
    assert len(found) == MOST_ROWS


def test_a_large_output_is_cut() -> None:
    output = RANDOM.normal(size=(3, 50, 50)).astype(np.float32)
    found = worst_of("mse", output, np.zeros_like(output)).records()
    assert [len(one["prediction"]) for one in found] == [MOST_VALUES] * 3
