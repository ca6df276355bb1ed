"""Metrics summed up over batches, beside scikit-learn's of the whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, mean_absolute_error, r2_score

from workbench.losses.loss_list import as_losses
from workbench.worker.metrics import ClassMetrics, ValueMetrics, metrics_of

RANDOM = np.random.default_rng(0)
ROWS, BATCH = 53, 8


def of_classes(loss: object, output: np.ndarray, target: np.ndarray) -> ClassMetrics:
    (chosen,) = as_losses(loss)
    found = metrics_of(chosen)
    assert isinstance(found, ClassMetrics)
    for start in range(0, len(output), BATCH):
        found.add(output[start : start + BATCH], target[start : start + BATCH])
    return found


def test_classes_are_counted_as_by_scikit_learn() -> None:
    logits = RANDOM.normal(size=(ROWS, 4)).astype(np.float32)
    target = RANDOM.integers(0, 4, ROWS)
    found = of_classes("cross_entropy", logits, target)
    predicted = logits.argmax(axis=1)
    assert found.accuracy == accuracy_score(target, predicted)
    expected = confusion_matrix(target, predicted, labels=range(4)).tolist()
    assert found.record(1.0) == {"confusion": expected}, "and no perplexity: it is no text"


def test_ignored_labels_are_left_out_and_a_text_has_a_perplexity() -> None:
    logits = RANDOM.normal(size=(ROWS, 6, 5)).astype(np.float32)
    target = RANDOM.integers(0, 5, (ROWS, 6))
    target[RANDOM.random(target.shape) < 0.5] = -100
    found = of_classes("cross_entropy", logits, target)
    counted = target != -100
    predicted = logits.argmax(axis=-1)[counted]
    assert found.accuracy == accuracy_score(target[counted], predicted)
    record = found.record(2.5)
    assert record["perplexity"] == pytest.approx(math.exp(2.5))
    assert np.sum(record["confusion"]) == counted.sum()
    assert of_classes("cross_entropy", logits, np.full_like(target, -100)).accuracy is None


@pytest.mark.parametrize(
    ("output", "target", "is_text"),
    [
        ((3,), (), False),
        ((3, 5), (5,), True),  # (batch, classes, positions)
        ((5, 3), (5,), True),
        ((3, 4, 5), (4, 5), False),  # an image of classes: (batch, classes, height, width)
        ((4, 5, 3), (4, 5), True),
    ],
)
def test_only_positions_of_a_sequence_have_a_perplexity(
    output: tuple[int, ...], target: tuple[int, ...], is_text: bool
) -> None:
    logits = RANDOM.normal(size=(BATCH, *output)).astype(np.float32)
    found = of_classes("cross_entropy", logits, RANDOM.integers(0, 3, (BATCH, *target)))
    assert ("perplexity" in found.record(2.5)) == is_text


@pytest.mark.parametrize(
    "loss", [{"name": "cross_entropy", "label_smoothing": 0.1}, {"name": "nll", "factor": 2.0}]
)
def test_a_changed_loss_has_no_perplexity(loss: dict[str, object]) -> None:
    from workbench.losses.loss import Loss

    logits = RANDOM.normal(size=(ROWS, 6, 5)).astype(np.float32)
    found = of_classes(Loss(**loss), logits, RANDOM.integers(0, 5, (ROWS, 6)))  # type: ignore[arg-type]
    assert "perplexity" not in found.record(2.5)


def test_a_perplexity_beyond_numbers_is_null() -> None:
    found = of_classes("nll", np.zeros((8, 2, 3), np.float32), np.zeros((8, 2), np.int64))
    assert found.record(1e6)["perplexity"] is None
    assert found.record(math.nan)["perplexity"] is None


def test_two_classes_by_the_sign_of_a_logit() -> None:
    logits = RANDOM.normal(size=(ROWS, 3)).astype(np.float32)
    target = RANDOM.integers(0, 2, (ROWS, 3)).astype(np.float32)
    found = of_classes("bce_with_logits", logits, target)
    expected = confusion_matrix(target.ravel(), logits.ravel() > 0).tolist()
    assert found.record(1.0) == {"confusion": expected}


def test_probabilities_of_classes_count_by_the_likeliest() -> None:
    logits = RANDOM.normal(size=(ROWS, 3)).astype(np.float32)
    target = RANDOM.dirichlet(np.ones(3), ROWS).astype(np.float32)
    found = of_classes("cross_entropy", logits, target)
    assert found.accuracy == accuracy_score(target.argmax(axis=1), logits.argmax(axis=1))


@pytest.mark.parametrize(("classes", "is_kept"), [(100, True), (101, False)])
def test_a_confusion_matrix_of_too_many_classes_is_not_kept(classes: int, is_kept: bool) -> None:
    logits = RANDOM.normal(size=(ROWS, classes)).astype(np.float32)
    found = of_classes("cross_entropy", logits, RANDOM.integers(0, classes, ROWS))
    assert ("confusion" in found.record(1.0)) == is_kept
    assert found.accuracy is not None


@pytest.mark.parametrize("shape", [(ROWS,), (ROWS, 1), (ROWS, 3), (ROWS, 2, 4)])
def test_values_are_measured_as_by_scikit_learn(shape: tuple[int, ...]) -> None:
    target = (RANDOM.normal(size=shape) * 3 + 100).astype(np.float32)
    output = (target + RANDOM.normal(size=shape)).astype(np.float32)
    found = metrics_of(as_losses("mse")[0])
    assert isinstance(found, ValueMetrics)
    for start in range(0, ROWS, BATCH):
        found.add(output[start : start + BATCH], target[start : start + BATCH])
    rows = target.reshape(ROWS, -1), output.reshape(ROWS, -1)
    record = found.record()
    assert record["r2"] == pytest.approx(r2_score(*rows, multioutput="variance_weighted"), abs=1e-6)
    assert record["mean_absolute_error"] == pytest.approx(mean_absolute_error(*rows), rel=1e-6)


def test_values_that_do_not_vary_have_no_r2() -> None:
    found = ValueMetrics()
    assert found.record() == {"r2": None, "mean_absolute_error": None}
    found.add(np.zeros((4, 2), np.float32), np.ones((4, 2), np.float32))
    assert found.record() == {"r2": None, "mean_absolute_error": 1.0}


def test_a_target_that_is_the_same_in_every_row_has_no_r2() -> None:
    """1,797 times 7.7: of the sums of squares only rounding is left."""
    found = ValueMetrics()
    target = np.full((1797, 1), 7.7, np.float32)
    for start in range(0, len(target), 32):
        found.add(target[start : start + 32] + 1, target[start : start + 32])
    assert found.record()["r2"] is None


@pytest.mark.parametrize(("mean", "spread"), [(1e5, 0.01), (1.7e9, 100.0)])
def test_large_targets_that_vary_little_are_measured_as_by_scikit_learn(
    mean: float, spread: float
) -> None:
    target = mean + spread * RANDOM.normal(size=(ROWS * 20, 1))
    output = target + 0.1 * spread * RANDOM.normal(size=target.shape)
    found = ValueMetrics()
    for start in range(0, len(target), BATCH):
        found.add(output[start : start + BATCH], target[start : start + BATCH])
    assert found.record()["r2"] == pytest.approx(r2_score(target, output), abs=1e-4)
