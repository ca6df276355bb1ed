"""Dropout of every kind drops again at each step, and follows the seed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forked import outcomes_of
from tests.trainable import dropout_cases
from tests.trainable.dropout_cases import CHOSEN, ENGINES, STEPS


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    return outcomes_of(dropout_cases, timeout_s=600)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHOSEN)
def test_draws_follow_the_seed(name: str, engine: str, outcomes: dict[str, Any]) -> None:
    first, again, other = outcomes[f"{name}, {engine}"]
    assert isinstance(first, list), first
    assert len(set(first)) == STEPS, f"steps drew the same: {first}"
    assert first == again, "one seed drew twice differently"
    assert not set(first) & set(other), "two seeds drew the same"


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_with_probability_1_is_pytorchs(engine: str, outcomes: dict[str, Any]) -> None:
    differences = outcomes[f"all, {engine}"]
    assert isinstance(differences, dict), differences
    assert max(differences.values()) < 1e-5, differences
