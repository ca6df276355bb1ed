"""Modules that nobody wrote on padded batches: losses, results and gradients are PyTorch's.

A seed alone, with what it draws: `python -m tests.ort.ortmodule.padding.random_padding SEED`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers import Answers, probed

SEEDS = ["1", "3", "4", "6"]
"""Those that torch.export need not export: it takes most of the time of a seed."""

SWEPT = [seed for seed in map(str, range(301)) if seed not in SEEDS]

RESULTS, GRADIENTS = 5e-6, 2e-3
"""Limits of the largest difference, of a result and of the gradient of a parameter.

PyTorch itself, given the sequences in another order, differs by up to 2.4e-4 (seed 19, whose norm
is of numbers that are almost equal). Wrong graphs gave 0.4 to 7.
"""

PACKED = 0.4
"""The least part of the seeds in which padding is left out."""


def answers_of(seeds: list[str], factory: pytest.TempPathFactory) -> Answers:
    return probed("tests.ort.ortmodule.padding.random_padding", factory.mktemp("random"), *seeds)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return answers_of(SEEDS, tmp_path_factory)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return answers_of(SWEPT, tmp_path_factory)


def check(seed: str, answer: dict[str, Any]) -> None:
    found = answer["outcome"]
    what = f"seed {seed}: {answer['plan']}: {found}"
    assert isinstance(found, dict), what
    assert found["batches"] >= 2, what
    assert found["results"] <= RESULTS, what
    assert found["gradients"] <= GRADIENTS, what


def check_packed(answers: Answers) -> None:
    packed = sum(
        any("leave out padding" in report for report in answer["outcome"]["reports"])
        for answer in answers.values()
        if isinstance(answer["outcome"], dict)
    )
    assert packed >= PACKED * len(answers), f"{packed} of {len(answers)}"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_modules_are_pytorchs(seed: str, answers: Answers) -> None:
    check(seed, answers[seed])


def test_padding_of_many_is_left_out(answers: Answers) -> None:
    check_packed(answers)


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", SWEPT)
def test_many_random_modules_are_pytorchs(seed: str, swept: Answers) -> None:
    check(seed, swept[seed])


@pytest.mark.sweep
def test_padding_of_many_more_is_left_out(swept: Answers) -> None:
    check_packed(swept)
