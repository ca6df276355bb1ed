"""Modules that change more than their result, or that are changed between calls, under ORTModule.

Each runs beside the plain module over several calls, with one row among the batches: results,
gradients, arguments, state and attributes are the same, whoever ran the calls, and where PyTorch
did that is said. All of it runs once in a process of its own (usage_probe.py).
"""

from __future__ import annotations

import pytest

from tests.answers import Answers, probed
from tests.ort.ortmodule.calls.effect_cases import CASES
from tests.representative import representative

PROBE = "tests.ort.ortmodule.calls.usage_probe"

USUAL = list(
    representative(
        {name: case for name, case in CASES.items() if not case.sweep},
        always=["within:generated-weights", "within:variable-named-as-attribute"],
    )
)
SWEPT = [name for name, case in CASES.items() if case.sweep]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("effects"), *USUAL)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("effects"), *SWEPT)


@pytest.mark.parametrize("name", USUAL)
def test_nothing_that_a_module_changes_is_lost_in_silence(name: str, answers: Answers) -> None:
    check(name, answers)


@pytest.mark.sweep
@pytest.mark.parametrize("name", SWEPT)
def test_nor_is_it_in_further_cases(name: str, swept: Answers) -> None:
    check(name, swept)


def check(name: str, answers: Answers) -> None:
    answer, case = answers[name], CASES[name]
    assert "error" not in answer, answer["error"]
    assert not answer["unequal"]
    assert answer["difference"] <= case.tolerance, f"{answer['difference']} at {answer['at']}"
    assert answer["graphs"] == case.graphs, f"PyTorch ran {answer['pytorch_calls']}"
    ours = [text for text in answer["warnings"] if "ORTModule" in text]
    assert len(ours) == bool(case.warns), ours
    assert case.warns in "".join(ours)
