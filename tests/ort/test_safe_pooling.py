"""Max pooling of NaN and infinity is PyTorch's, and its gradient writes nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forked import outcomes_of
from tests.ort import safe_pooling_cases
from tests.ort.safe_pooling_cases import INPUTS, OPTIONS

ENGINES = ("ondevice", *OPTIONS)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(safe_pooling_cases)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", INPUTS)
def test_pooling_is_that_of_pytorch(engine: str, values: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[f"{engine}: {values}"] == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_network_that_diverges_says_nan(engine: str, outcomes: dict[str, Any]) -> None:
    losses = outcomes[f"{engine}: diverged"]
    assert isinstance(losses, list), losses
    assert losses[0] != "nan"
    assert losses[-1] == "nan"
