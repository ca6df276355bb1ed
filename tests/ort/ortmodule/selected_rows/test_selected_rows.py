"""Functions of rows that a mask selects: without any, results and gradients are PyTorch's too.

Each case runs in a fork of a probe: kernels that do not bear such tensors end the process.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers import Answers, probed
from tests.ort.ortmodule.selected_rows.selection_cases import BORNE, CASES, GUARDED
from tests.ort.ortmodule.selected_rows.selection_probe import OPTIONS
from tests.representative import representative
from workbench.ort.ortmodule.fallback_reasons import EXPECTED, NO_ROWS

PROBE = "tests.ort.ortmodule.selected_rows.selection_probe"

EVERY = [f"{kernels}:{name}" for kernels in OPTIONS for name in CASES]
USUAL = [
    *(f"dropout:{name}" for name in representative(BORNE)),
    *(f"all:{name}" for name in representative(GUARDED, 5, ("after a norm", "segments"))),
]
SWEPT = [name for name in EVERY if name not in USUAL]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("selected"), *USUAL)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("selected"), *SWEPT)


@pytest.mark.parametrize("name", USUAL)
def test_calls_without_selected_rows_are_pytorchs(name: str, answers: Answers) -> None:
    check(name, answers[name])


@pytest.mark.sweep
@pytest.mark.parametrize("name", SWEPT)
def test_further_calls_are_so_too(name: str, swept: Answers) -> None:
    check(name, swept[name])


def check(name: str, answer: Any) -> None:
    assert isinstance(answer, dict), answer
    assert not answer["unequal"]
    case = CASES[name.partition(":")[2]]
    tolerance = 1e-2 if case.autocast else 1e-4
    assert answer["difference"] <= tolerance, f"{answer['difference']} at {answer['at']}"
    assert answer["pytorch_calls"] == ({NO_ROWS: case.counts.count(0)} if case.guarded else {})
    assert answer["graphs"], "nothing ran in a graph"
    assert not answer["printed"]


def test_such_a_call_is_no_surprise() -> None:
    assert NO_ROWS in EXPECTED
