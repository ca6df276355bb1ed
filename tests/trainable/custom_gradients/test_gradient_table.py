"""The table of differentiable ops against ONNX Runtime itself and finite differences."""

from __future__ import annotations

import pytest

from tests.forked import outcomes_of
from tests.trainable.custom_gradients import gradient_table
from tests.trainable.custom_gradients.gradient_table import CASES, WRONG, build
from workbench.trainable import find
from workbench.trainable.differentiable import DIFFERENTIABLE, DIFFERENTIABLE_MICROSOFT

TOLERANCE = 0.02
"""Of float32 finite differences, relative to the largest gradient."""

REWRITTEN = {"Cast", "LayerNormalization"}
"""Rewritten in their case: to the same type, and where its scale is not trained."""
WHOLE_MODELS = {"BatchNormalization", "GRU", "LSTM"}
"""Checked in `tests/trainable/rewrites`, against PyTorch."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, float | str]:
    return outcomes_of(gradient_table)


def test_every_op_of_the_table_has_a_case() -> None:
    assert {case.op for case in CASES.values() if not case.domain} | WHOLE_MODELS == DIFFERENTIABLE
    assert {case.op for case in CASES.values() if case.domain} == DIFFERENTIABLE_MICROSOFT


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_right(name: str, outcomes: dict[str, float | str]) -> None:
    outcome = outcomes[name]
    assert isinstance(outcome, float), outcome
    assert outcome < TOLERANCE, f"largest relative difference {outcome:.1e}"
    states = {found.state for found in find(build(CASES[name]), ["p"])}
    expected = {"trains", "rewritten"} if CASES[name].op in REWRITTEN else {"trains"}
    assert states <= expected
    assert "trains" in states


@pytest.mark.parametrize("name", WRONG)
def test_wrong_gradients_are_listed(name: str, outcomes: dict[str, float | str]) -> None:
    outcome = outcomes[name]
    assert isinstance(outcome, str) or outcome > TOLERANCE, "right after all: allow it"
    states = {found.op: found.state for found in find(build(WRONG[name]), ["p"])}
    assert states[WRONG[name].op] in {"cannot", "rewritten"}
