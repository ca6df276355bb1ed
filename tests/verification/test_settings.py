"""Settings of `wb.verify`, and their defaults."""

from __future__ import annotations

import numpy as np
import pytest
from torch import nn

from workbench.errors import ConfigError
from workbench.load import load_model
from workbench.verification.verify import _default_loss, verify


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.fault
def test_all_but_the_model_and_the_data_are_given_by_name() -> None:
    model = load_model(nn.Linear(3, 2), example_inputs=rows(2, 3))
    with pytest.raises(TypeError, match="positional"):
        verify(model, None, ["ondevice"])  # type: ignore[misc]
    with pytest.raises(ConfigError, match="above 0"):
        verify(model=model, data=None, tolerance=-1.0)


@pytest.mark.parametrize(
    ("module", "shape", "loss"),
    [
        (nn.Linear(4, 1), (4,), "mse"),
        (nn.Linear(4, 3), (4,), None),
        (nn.Flatten(0), (1,), "mse"),
        (nn.Linear(4, 1), (3, 4), "mse"),
        (nn.Linear(4, 2), (1, 4), None),
        (nn.Conv2d(2, 1, 2), (2, 3, 3), "mse"),
        (nn.Conv2d(1, 2, 2), (1, 3, 2), None),
    ],
)
def test_the_loss_without_a_dataset_is_by_the_number_of_classes(
    module: nn.Module, shape: tuple[int, ...], loss: str | None
) -> None:
    """Of an axis of one's own where there is one: the last of three, else the second."""
    model = load_model(module, example_inputs=rows(2, *shape))
    assert _default_loss(model, None) == loss
    assert _default_loss(model, "digits") is None, "the dataset says what it is for"
