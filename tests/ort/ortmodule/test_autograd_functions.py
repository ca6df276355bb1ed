"""Modules with custom autograd functions beside ORTModule's: losses, gradients, what is refused.

All of it runs once in a process of its own (autograd_function_probe.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from tests.ort.ortmodule.autograd_function_cases import FUNCTION_CASES

Answer = dict[str, Any]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Everything that the probe wrote before it ended, and how it ended."""
    result = tmp_path_factory.mktemp("functions") / "answers.json"
    probe = "tests.ort.ortmodule.autograd_function_probe"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", probe, result],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    found = json.loads(result.read_text()) if result.exists() else {}
    return {"exit": f"ended with {done.returncode}:\n{done.stderr[-4000:]}", **found}


def of(answers: Answer, name: str) -> Answer:
    assert name in answers, f"the probe got no further: {answers['exit']}"
    answer: Answer = answers[name]
    return answer


@pytest.mark.parametrize("name", list(FUNCTION_CASES))
def test_training_follows_pytorch(name: str, answers: Answer) -> None:
    """20 SGD steps with batches of three sizes on one set of pieces."""
    answer = of(answers, name)
    losses = answer["losses"]
    assert len(losses) == 20
    assert all(isfinite(loss) for both in losses for loss in both)
    worst = max(abs(one - other) / max(1.0, abs(one)) for one, other in losses)
    assert worst <= 1e-5, f"losses differ by {worst}"
    gradient = max(answer["gradients"])
    assert gradient <= 1e-5, f"gradients differ by {gradient}"
    name, state = max(answer["state"].items(), key=lambda item: item[1])
    assert state <= 1e-5, f"{name} differs by {state} in the end"


@pytest.mark.parametrize("name", list(FUNCTION_CASES))
def test_results_have_the_plain_modules_nesting(name: str, answers: Answer) -> None:
    plain, wrapped = of(answers, name)["nesting"]
    assert wrapped == plain


@pytest.mark.parametrize(
    ("name", "pieces", "functions"),
    [("straight-through", 2, 1), ("transformer", 3, 2), ("convolutional", 2, 2), ("sizes", 2, 1)],
)
def test_functions_run_between_pieces(
    name: str, pieces: int, functions: int, answers: Answer
) -> None:
    """Every batch size runs on them. The frozen piece of "convolutional" has no gradient."""
    answer = of(answers, name)
    assert (answer["graphs"], answer["pieces"], answer["functions"]) == (1, pieces, functions)


def test_functions_are_named_and_given_back_as_they_were(answers: Answer) -> None:
    answer = of(answers, "what_ran")
    named = [name.rpartition(".")[2] for name in answer["functions"]]
    assert sorted(named) == ["Once", "Reversed", "Separate", "Separate", "Separate"]
    assert answer["restored"], "a class has another forward than before the export"
    plain, wrapped = answer["require_grad"]
    assert wrapped == plain


def test_gradients_accumulate(answers: Answer) -> None:
    answer = of(answers, "accumulation")
    assert answer["difference"] <= 1e-5, f"gradients differ by {answer['difference']}"
    assert answer["one"] <= 1e-5, f"a batch of one differs by {answer['one']}"


def test_gradient_to_an_argument_that_a_function_takes(answers: Answer) -> None:
    answer = of(answers, "input_gradient")
    assert answer["trained"] <= 1e-5, f"differs by {answer['trained']}"
    assert answer["frozen"] <= 1e-5, f"differs by {answer['frozen']} with frozen parameters"


def test_dropout_on_both_sides(answers: Answer) -> None:
    """What passed is exact; the shares of 3,200 draws lie within 0.05."""
    answer = of(answers, "dropout")
    assert abs(answer["kept"] - 0.75) < 0.05
    assert abs(answer["both"] - 0.375) < 0.05
    assert answer["anew"] > 0.2
    assert answer["gradient"] <= 1e-5, f"gradients differ by {answer['gradient']}"
    assert answer["generator_untouched"], "building drew from PyTorch's generator"


def test_a_profile_has_the_nodes_of_every_piece(answers: Answer) -> None:
    """Of the Linear before the function the input has no gradient."""
    answer = of(answers, "profile")
    assert [len([op for op in answer[p] if "Gemm" in op]) for p in ("forward", "backward")] == [
        2,
        3,
    ]


def test_a_result_that_comes_to_have_a_gradient_is_told(answers: Answer) -> None:
    message = of(answers, "changing")["message"]
    assert message.startswith("EngineError: A custom autograd function gave a result with a grad")


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("values", ["Decides", "decide by values"]),
        ("in place", ["InPlace", "in place (mark_dirty)", "return a new tensor"]),
        ("closure", ["Applies", "holds a tensor", "argument of its own"]),
        ("defined within", ["Within", "once, outside of the forward pass"]),
        ("checkpoint", ["use_reentrant=False"]),
    ],
)
def test_what_cannot_be_traced_is_refused(kind: str, parts: list[str], answers: Answer) -> None:
    message = of(answers, "refusals")[kind]
    assert message.startswith("UntrainableError: ")
    for part in parts:
        assert part in message
