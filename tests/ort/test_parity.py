"""Losses and optimizers equal PyTorch's, defaults included, over 100 steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.forked import outcomes_of
from tests.ort import parity_cases

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(parity_cases)


@pytest.mark.parametrize("name", parity_cases.CHOSEN)
def test_trains_as_pytorch_does(name: str, outcomes: dict[str, Any]) -> None:
    differences = outcomes[name]
    assert isinstance(differences, dict), differences
    for what, difference in differences.items():
        assert difference < TOLERANCE, f"largest difference of {what}: {difference:.1e}"


@pytest.mark.parametrize(
    ("loss", "value"), [("cross_entropy", 0.0), ("mean", float("nan")), ("sum", 0.0)]
)
def test_a_batch_in_which_no_label_counts(
    loss: str, value: float, outcomes: dict[str, Any]
) -> None:
    """As `append_losses` says of its own, and as PyTorch computes those of users."""
    found = outcomes[f"all ignored, {loss}"]
    np.testing.assert_equal(found, {"loss": value, "gradient": 0.0})
