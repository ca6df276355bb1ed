"""Modules with custom autograd functions beside ORTModule's: losses, gradients, what is refused.

All of it runs once in a process of its own (autograd_function_probe.py).
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest

from tests.answers import Answers, probed
from tests.ort.ortmodule.autograd_functions.autograd_function_cases import USUAL

PROBE = "tests.ort.ortmodule.autograd_functions.autograd_function_probe"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("functions"))


@pytest.mark.parametrize("name", list(USUAL))
def test_training_follows_pytorch(name: str, answers: Answers) -> None:
    """20 SGD steps with batches of three sizes on one set of segments."""
    answer = answers[name]
    losses = answer["losses"]
    assert len(losses) == 20
    assert all(isfinite(loss) for both in losses for loss in both)
    worst = max(abs(one - other) / max(1.0, abs(one)) for one, other in losses)
    assert worst <= 1e-5, f"losses differ by {worst}"
    gradient = max(answer["gradients"])
    assert gradient <= 1e-5, f"gradients differ by {gradient}"
    name, state = max(answer["state"].items(), key=lambda item: item[1])
    assert state <= 1e-5, f"{name} differs by {state} in the end"


@pytest.mark.parametrize("name", list(USUAL))
def test_results_have_the_plain_modules_nesting(name: str, answers: Answers) -> None:
    plain, wrapped = answers[name]["nesting"]
    assert wrapped == plain


@pytest.mark.parametrize(
    ("name", "segments", "functions"),
    [("straight-through", 2, 1), ("transformer", 3, 2), ("convolutional", 2, 2), ("sizes", 2, 1)],
)
def test_functions_run_between_pieces(
    name: str, segments: int, functions: int, answers: Answers
) -> None:
    """Every batch size runs on them. The frozen segment of "convolutional" has no gradient."""
    answer = answers[name]
    assert (answer["graphs"], answer["segments"], answer["functions"]) == (1, segments, functions)


def test_functions_are_named_and_given_back_as_they_were(answers: Answers) -> None:
    answer = answers["what_ran"]
    named = [name.rpartition(".")[2] for name in answer["functions"]]
    assert sorted(named) == ["Once", "Reversed", "Separate", "Separate", "Separate"]
    assert answer["restored"], "a class has another forward than before the export"
    plain, wrapped = answer["require_grad"]
    assert wrapped == plain


def test_gradients_accumulate(answers: Answers) -> None:
    answer = answers["accumulation"]
    assert answer["difference"] <= 1e-5, f"gradients differ by {answer['difference']}"
    assert answer["one"] <= 1e-5, f"a batch of one differs by {answer['one']}"


def test_gradient_to_an_argument_that_a_function_takes(answers: Answers) -> None:
    answer = answers["input_gradient"]
    assert answer["trained"] <= 1e-5, f"differs by {answer['trained']}"
    assert answer["frozen"] <= 1e-5, f"differs by {answer['frozen']} with frozen parameters"


def test_dropout_on_both_sides(answers: Answers) -> None:
    """Kept values are exact; the shares of 3,200 draws lie within 0.05."""
    answer = answers["dropout"]
    assert abs(answer["kept"] - 0.75) < 0.05
    assert abs(answer["both"] - 0.375) < 0.05
    assert answer["anew"] > 0.2
    assert answer["gradient"] <= 1e-5, f"gradients differ by {answer['gradient']}"
    assert answer["generator_untouched"], "building drew from PyTorch's generator"


def test_a_profile_has_the_nodes_of_every_piece(answers: Answers) -> None:
    """Of the Linear before the function the input has no gradient."""
    answer = answers["profile"]
    assert [len([op for op in answer[p] if "Gemm" in op]) for p in ("forward", "backward")] == [
        2,
        3,
    ]


def test_a_result_that_newly_requires_a_gradient_is_reported(answers: Answers) -> None:
    message = answers["changing"]["message"]
    assert message.startswith("EngineError: A custom autograd function returned a result with a")


REFUSED = {
    "values": ["Decides", "branch on values"],
    "in place": ["InPlace", "in place (mark_dirty)", "return a new tensor"],
}
MORE_REFUSED = {
    "closure": ["Applies", "holds a tensor", "argument of its own"],
    "defined within": ["Within", "once, outside of the forward pass"],
    "checkpoint": ["use_reentrant=False"],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_functions_that_cannot_be_traced_are_refused(kind: str, answers: Answers) -> None:
    check_refusal(answers[f"refused: {kind}"], REFUSED[kind])


@pytest.mark.sweep
def test_more_functions_are_refused(tmp_path: Path) -> None:
    found = probed(PROBE, tmp_path, *(f"refused: {kind}" for kind in MORE_REFUSED))
    for kind, parts in MORE_REFUSED.items():
        check_refusal(found[f"refused: {kind}"], parts)


def check_refusal(message: str, parts: list[str]) -> None:
    assert message.startswith("UntrainableError: ")
    for part in parts:
        assert part in message
