"""Losses and optimizers equal PyTorch's, defaults included, over 100 steps."""

from __future__ import annotations

from typing import Any

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
