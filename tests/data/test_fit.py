"""A dataset that does not fit is refused before anything starts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.data import Dataset, Split, check_fit
from workbench.errors import ConfigError, DataError
from workbench.load import load_model
from workbench.losses.loss import Loss
from workbench.models import Model

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


def test_datasets_that_fit(linear: Model, sequence: Model, pixels: Model) -> None:
    check_fit(linear, dataset(floats(8, 4), classes(8), classes(8)), "cross_entropy")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3)), "mse")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3)), "l1")
    check_fit(linear, dataset(floats(8, 4), floats(8, 3).round()), "bce_with_logits")
    check_fit(sequence, dataset(floats(8, 5, 4), classes(8, 5)), "cross_entropy")
    check_fit(pixels, dataset(floats(8, 4, 6, 5), classes(8, 6, 5)), "cross_entropy")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("inputs", "target", "loss", "message"),
    [
        (floats(8, 5), classes(8), "cross_entropy", r"shape \(batch, 4\) .* \(batch, 5\)"),
        (floats(8, 4, 1), classes(8), "cross_entropy", r"\(batch, 4\) .* \(batch, 4, 1\)"),
        (classes(8, 4), classes(8), "cross_entropy", "is float32 but dataset .* int64"),
        (floats(8, 4) * np.nan, classes(8), "cross_entropy", "contains NaN in row 0"),
        (floats(8, 4), floats(8), "cross_entropy", "class indices .*float32; give integers"),
        (floats(8, 4), classes(8, 1), "cross_entropy", r"targets .* \(batch, 1\)"),
        (
            floats(8, 4),
            np.arange(8),
            "cross_entropy",
            "Label 7 .* 3 classes, 0 to 2.* out of range: 5 of 8",
        ),
        (floats(8, 4), np.arange(8) - 5, "cross_entropy", "Label -5 of .* out of range: 5 of 8"),
        (floats(8, 4), classes(8, 3), "mse", "mse needs a float32 target"),
        (floats(8, 4), floats(8), "l1", r"\(batch, 3\) .* \(batch\); give targets of that"),
        (floats(8, 4), floats(8, 3) * np.inf, "mse", "target of dataset .* contains infinity"),
        (
            floats(8, 4),
            floats(8, 3) + 1,
            "bce_with_logits",
            r"to 1, but .*, in row \d of this split",
        ),
    ],
)
def test_datasets_that_do_not_fit(linear: Model, inputs, target, loss: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_fit(linear, dataset(inputs, target), loss)


@pytest.mark.fault
def test_the_test_split_is_checked_too(linear: Model) -> None:
    with pytest.raises(DataError, match=r"'mine' \(test\) is out of range.* Correct it"):
        check_fit(linear, dataset(floats(8, 4), classes(8), classes(8) + 3), "cross_entropy")


@pytest.mark.fault
def test_labels_of_many_axes_are_placed(sequence: Model) -> None:
    labels = classes(8, 5)
    labels[6, 2] = 3
    with pytest.raises(DataError, match=r"Label 3 .* out of range: 1 of 40"):
        check_fit(sequence, dataset(floats(8, 5, 4), labels), "cross_entropy")


@pytest.mark.fault
def test_the_number_of_inputs(linear: Model) -> None:
    two = Dataset("two", Split([floats(8, 4), floats(8, 4)], classes(8)))
    with pytest.raises(DataError, match=r"takes 1 input \(input\) but dataset 'two' .* has 2"):
        check_fit(linear, two, "cross_entropy")


@pytest.mark.fault
def test_a_sample_names_its_own_dataset() -> None:
    data = dataset(floats(8, 64), classes(8))
    with pytest.raises(DataError, match=r"Its own dataset is 'digits'\.$"):
        check_fit(load_model("digits-cnn"), data, "cross_entropy")


@pytest.fixture(scope="module")
def heads() -> Model:
    """(batch, 4) to outputs (batch, 3) and (batch, 2)."""
    return load_model(Heads(), example_inputs=floats(2, 4), name="heads")


class Heads(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 3), torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.one(x), self.two(x)


def several(*targets: np.ndarray) -> Dataset:
    return Dataset("two", Split([floats(8, 4)], targets))


def test_options_that_fit(linear: Model, pixels: Model) -> None:
    x = floats(8, 4)
    check_fit(linear, dataset(x, classes(8)), Loss("cross_entropy", weight=[1, 2, 3]))
    check_fit(linear, dataset(x, classes(8) - 1), Loss("cross_entropy", ignore_index=-1))
    check_fit(linear, dataset(x, np.full(8, -100)), "nll")
    check_fit(linear, dataset(x, floats(8, 3)), Loss("cross_entropy", label_smoothing=0.1))
    check_fit(pixels, dataset(floats(8, 4, 6, 5), floats(8, 3, 6, 5)), "cross_entropy")
    weighted = Loss("bce_with_logits", pos_weight=np.ones((3, 1, 1)), weight=2.0)
    check_fit(pixels, dataset(floats(8, 4, 6, 5), floats(8, 3, 6, 5)), weighted)
    check_fit(linear, dataset(x, floats(8)), lambda output, target: output.sum())


@pytest.mark.fault
@pytest.mark.parametrize(
    ("target", "loss", "message"),
    [
        (classes(8), Loss("nll", weight=[1, 2]), "weight has 2 numbers, but .* 3 classes"),
        (classes(8) - 1, Loss("nll", ignore_index=2), "Label -1 .* out of range: "),
        (floats(8, 3), Loss("cross_entropy", ignore_index=1), "is a class, .* probabilities"),
        (floats(8, 3), "nll", "nll needs class indices"),
        (floats(8, 3) - 2, "cross_entropy", "mse and l1 take any number.*contains -"),
        (
            floats(8, 3) + 2,
            "cross_entropy",
            "probabilities .*, but .* contains .*, in row 0",
        ),
        (floats(8, 3), Loss("bce_with_logits", pos_weight=[1, 2]), "does not broadcast to rows"),
        (floats(8, 3), Loss("bce_with_logits", weight=[[1, 2, 3]] * 2), "does not broadcast"),
        (floats(8, 3) + np.inf, lambda output, target: output.sum(), "contains infinity"),
    ],
)
def test_options_that_do_not_fit(linear: Model, target, loss, message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        check_fit(linear, dataset(floats(8, 4), target), loss)


@pytest.mark.fault
def test_several_losses(heads: Model) -> None:
    names = [spec.name for spec in heads.outputs]
    pair = several(classes(8), floats(8, 2))
    check_fit(heads, pair, ["cross_entropy", "mse"])
    check_fit(heads, pair, {names[0]: "cross_entropy", names[1]: Loss("mse", factor=0.3)})
    check_fit(heads, several(floats(8, 2)), {names[1]: "l1"})
    check_fit(heads, pair, lambda outputs, targets: outputs[0].sum())
    for loss, message in (
        (["cross_entropy"], "number of targets .* is 2, but the number of losses is 1"),
        (["mse", "mse"], "mse needs a float32 target"),
        ({"hidden": "mse", names[0]: "nll"}, "no output 'hidden'"),
        (["cross_entropy", "mse", "l1"], "number 3, but the model has 2 outputs"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            check_fit(heads, pair, loss)


@pytest.mark.parametrize("target", [floats(8, 1), np.zeros(8, np.int64)])
def test_the_cross_entropy_of_one_class_is_refused(target: np.ndarray) -> None:
    """It is 0 whatever the model says, and its accuracy 1: a regression would seem to be learnt."""
    net = wb.load_model(torch.nn.Linear(4, 1), example_inputs=torch.zeros(2, 4))
    with pytest.raises(DataError, match=r"of one class is always 0, .* use mse or l1 for numbers"):
        check_fit(net, dataset(floats(8, 4), target), "cross_entropy")
    check_fit(net, dataset(floats(8, 4), floats(8, 1)), "mse")
    with pytest.raises(DataError, match=r"\(batch\); reshape the target, .*target\.reshape"):
        check_fit(net, dataset(floats(8, 4), floats(8)), "mse")
