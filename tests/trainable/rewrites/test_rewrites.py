"""Every rewrite against PyTorch: loss, gradients, weights, running statistics, evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forked import outcomes_of
from tests.trainable.rewrites import rewrite_cases

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(rewrite_cases)


@pytest.mark.parametrize("name", rewrite_cases.CHOSEN)
def test_trains_as_pytorch_does(name: str, outcomes: dict[str, Any]) -> None:
    differences = outcomes[name]
    assert isinstance(differences, dict), differences
    for what, difference in differences.items():
        assert difference < TOLERANCE, f"largest difference of {what}: {difference:.1e}"
