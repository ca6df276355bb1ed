"""What does not fit is told before anything starts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.data import Dataset, Split, check_fit
from workbench.errors import DataError
from workbench.models import Model, load_model

GENERATOR = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return GENERATOR.random(shape, np.float32)


def classes(*shape: int, count: int = 3) -> np.ndarray:
    return GENERATOR.integers(0, count, shape)


def dataset(inputs: np.ndarray, target: np.ndarray, test_target: np.ndarray | None = None):
    test = None if test_target is None else Split([inputs], test_target)
    return Dataset("mine", Split([inputs], target), test)


@pytest.fixture(scope="module")
def linear() -> Model:
    """(batch, 4) to (batch, 3)."""
    return load_model(torch.nn.Linear(4, 3), example_inputs=floats(2, 4), name="linear")


@pytest.fixture(scope="module")
def sequence() -> Model:
    """(batch, 5, 4) to (batch, 5, 3): classes last."""
    return load_model(torch.nn.Linear(4, 3), example_inputs=floats(2, 5, 4), name="sequence")


@pytest.fixture(scope="module")
def pixels() -> Model:
    """(batch, 4, 6, 5) to (batch, 3, 6, 5): classes on axis 1."""
    return load_model(torch.nn.Conv2d(4, 3, 1), example_inputs=floats(2, 4, 6, 5), name="pixels")


def test_what_fits(linear: Model, sequence: Model, pixels: Model) -> None:
    check_fit(linear, dataset(floats(8, 4), classes(8), classes(8)), "cross_entropy")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3)), "mse")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3)), "l1")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3).round()), "bce_with_logits")
    check_fit(sequence, dataset(floats(8, 5, 4), classes(8, 5)), "cross_entropy")
    check_fit(pixels, dataset(floats(8, 4, 6, 5), classes(8, 6, 5)), "cross_entropy")


@pytest.mark.parametrize(
    ("inputs", "target", "loss", "message"),
    [
        (floats(8, 5), classes(8), "cross_entropy", r"shape \(batch, 4\) .* \(batch, 5\)"),
        (floats(8, 4, 1), classes(8), "cross_entropy", r"\(batch, 4\) .* \(batch, 4, 1\)"),
        (classes(8, 4), classes(8), "cross_entropy", "is float32 but dataset .* int64"),
        (floats(8, 4) * np.nan, classes(8), "cross_entropy", "holds NaN in row 0"),
        (floats(8, 4), floats(8), "cross_entropy", "class numbers .*float32; load it with"),
        (floats(8, 4), classes(8, 1), "cross_entropy", r"targets .* \(batch, 1\)"),
        (floats(8, 4), np.arange(8), "cross_entropy", "Label 7 in row 7 .* 3 classes, 0 to 2"),
        (floats(8, 4), np.arange(8) - 5, "cross_entropy", "Label -5 in row 0"),
        (floats(8, 4), classes(8, 3), "mse", "mse needs a float32 target"),
        (floats(8, 4), floats(8), "l1", r"\(batch, 3\) .* \(batch\); reshape"),
        (floats(8, 4), floats(8, 3) * np.inf, "mse", "target of dataset .* holds infinity"),
        (floats(8, 4), floats(8, 3) + 1, "bce_with_logits", r"from 0 to 1, but row \d"),
    ],
)
def test_what_does_not_fit(linear: Model, inputs, target, loss: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_fit(linear, dataset(inputs, target), loss)


def test_the_test_split_is_checked_too(linear: Model) -> None:
    with pytest.raises(DataError, match=r"'mine' \(test\) is out of range"):
        check_fit(linear, dataset(floats(8, 4), classes(8), classes(8) + 3), "cross_entropy")


def test_labels_of_many_axes_are_placed(sequence: Model) -> None:
    labels = classes(8, 5)
    labels[6, 2] = 3
    with pytest.raises(DataError, match="Label 3 in row 6"):
        check_fit(sequence, dataset(floats(8, 5, 4), labels), "cross_entropy")


def test_the_number_of_inputs(linear: Model) -> None:
    two = Dataset("two", Split([floats(8, 4), floats(8, 4)], classes(8)))
    with pytest.raises(DataError, match=r"takes 1 inputs \(input\) but dataset 'two' .* has 2"):
        check_fit(linear, two, "cross_entropy")


def test_a_sample_names_its_own_dataset() -> None:
    data = dataset(floats(8, 64), classes(8))
    with pytest.raises(DataError, match=r"load_dataset\('digits'\)"):
        check_fit(load_model("digits-cnn"), data, "cross_entropy")
