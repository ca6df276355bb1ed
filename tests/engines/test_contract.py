"""The contract that every engine of the registry keeps, on the smallest sample.

Each engine does everything once in a process of its own (contract_probe.py); the tests read what
came out. An engine that cannot run here is skipped, with its reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.engines import ENGINES
from workbench.models import load_model

Answers = dict[str, Any]
PROBE = Path(__file__).with_name("contract_probe.py")
ROOT = PROBE.parents[2]
WARNINGS = ("-W", "error", "-W", "ignore::DeprecationWarning")
"""torch.compile imports parts of torch that torch itself calls deprecated."""


@pytest.fixture(scope="module")
def answers_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:
    """What the probe of an engine wrote down, run at the first question."""
    model = tmp_path_factory.mktemp("model")
    load_model("digits-mlp").save(model / "saved")
    known: dict[str, Answers] = {}

    def ask(name: str) -> Answers:
        if name not in known:
            work = tmp_path_factory.mktemp(name)
            result = work / "answers.json"
            done = subprocess.run(
                [sys.executable, *WARNINGS, PROBE, name, model / "saved", work, result],
                capture_output=True,
                text=True,
                check=False,
                cwd=work,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            )
            answers = json.loads(result.read_text()) if result.exists() else {}
            known[name] = {"exit": done.returncode, "log": done.stderr[-4000:], **answers}
        answers = known[name]
        assert answers["exit"] == 0, f"{name} ended with {answers['exit']}:\n{answers['log']}"
        return answers

    return ask


@pytest.fixture(params=list(ENGINES))
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def answers(name: str, answers_of: Callable[[str], Answers]) -> Answers:
    found = answers_of(name)
    if not found["availability"]["ok"]:
        pytest.skip(f"{name}: {found['availability']['reason']}")
    return found


def test_availability_says_why_and_what_to_do(
    name: str, answers_of: Callable[[str], Answers]
) -> None:
    available = answers_of(name)["availability"]
    assert available["loaded"] == [], "asking must not load torch or onnxruntime"
    assert available["ok"] or available["reason"]


def test_the_loss_falls(answers: Answers) -> None:
    losses = answers["training"]["losses"]
    assert answers["training"]["loss_type"] == "float"
    assert sum(losses[-5:]) < sum(losses[:5]), losses


def test_training_is_deterministic(answers: Answers) -> None:
    training = answers["training"]
    worst = largest_difference(training["losses"], training["repeated"])
    assert worst <= 1e-6, f"two engines of the same seed differ by {worst}"


def test_a_step_returns_the_loss_before_it(answers: Answers) -> None:
    training = answers["training"]
    worst = abs(training["losses"][0] - training["first_loss_evaluated"])
    assert worst <= 1e-5, f"loss of the first step and its evaluation differ by {worst}"


def test_the_loss_is_cross_entropy_of_the_first_output(answers: Answers) -> None:
    training = answers["training"]
    worst = abs(training["first_loss_in_numpy"] - training["first_loss_evaluated"])
    assert worst <= 1e-5, f"differs from numpy's by {worst}"
    assert training["output_shape"] == [32, 10]
    assert training["output_dtype"] == "float32"


def test_every_engine_follows_pytorch(
    name: str, answers: Answers, answers_of: Callable[[str], Answers]
) -> None:
    if name == "fake":
        assert answers["training"]["initial_difference"] is None, "it has a model of its own"
        return
    assert answers["training"]["initial_difference"] == 0, "weights are not the model's initial"
    reference = answers_of("pytorch")["training"]
    worst = largest_difference(answers["training"]["losses"], reference["losses"])
    assert worst <= 1e-4, f"30 AdamW steps differ from PyTorch's loss by {worst}"
    assert answers["training"]["weights"] == reference["weights"]


def test_evaluation_changes_nothing(answers: Answers) -> None:
    evaluation = answers["evaluation"]
    assert evaluation["changed"] == 0, "weights moved, or weights() gave no copy"
    assert evaluation["repeated"] == 0


def test_any_batch_will_do(answers: Answers) -> None:
    evaluation = answers["evaluation"]
    shape, loss = evaluation["small_batch"]
    assert shape == [3, 10]
    assert 0 < loss < 10
    assert evaluation["read_only"] == 0
    assert 0 < evaluation["read_only_step"] < 10


def test_gradients_take_no_step(answers: Answers) -> None:
    gradients = answers["gradients"]
    assert gradients["changed"] == 0, "weights or buffers moved"
    assert gradients["repeated"] <= 1e-6
    assert gradients["dtypes"] == ["float32"]
    assert abs(gradients["loss"] - answers["training"]["losses"][0]) <= 1e-6


def test_gradients_are_what_a_step_follows(answers: Answers) -> None:
    worst = answers["gradients"]["step"]
    assert worst <= 1e-6, f"weights after a step of SGD with weight decay are off by {worst}"


def test_gradients_are_pytorchs(
    name: str, answers: Answers, answers_of: Callable[[str], Answers]
) -> None:
    if name == "fake":
        assert set(answers["gradients"]["first"]) == {"linear.weight", "linear.bias"}
        return
    reference = answers_of("pytorch")["gradients"]["first"]
    own = answers["gradients"]["first"]
    assert own.keys() == reference.keys()
    for parameter, gradient in reference.items():
        expected = np.array(gradient)
        worst = float(np.abs(np.array(own[parameter]) - expected).max() / np.abs(expected).max())
        assert worst <= 1e-4, f"the gradient to {parameter} differs from PyTorch's by {worst}"


def test_the_learning_rate_holds_from_the_next_step(answers: Answers) -> None:
    none, some, twice = answers["learning_rate"]["moved"]
    assert none == 0
    assert some > 0
    assert twice == pytest.approx(2 * some, rel=1e-2), "AdamW on one gradient is proportional"


def test_frozen_parameters_stay(answers: Answers) -> None:
    frozen = answers["frozen"]
    for parameter, moved in frozen["moved"].items():
        trained = any(fnmatchcase(parameter, pattern) for pattern in frozen["patterns"])
        assert (moved > 0) == trained, f"{parameter} moved by {moved}"
        assert (parameter in frozen["gradients"]) == trained, f"gradient to {parameter}"
    assert frozen["losses"][-1] < frozen["losses"][0]


def test_weights_can_be_put_back(answers: Answers) -> None:
    training, weights = answers["training"], answers["weights"]
    worst = abs(training["restored_loss"] - training["first_loss_evaluated"])
    assert worst <= 1e-6, f"loss after loading the initial weights differs by {worst}"
    assert weights["set"] == 0
    assert weights["others"] == 0, "weights that were not given changed"


def test_a_weight_that_does_not_fit_is_refused(answers: Answers) -> None:
    wrong_shape, wrong_name = answers["weights"]["refused"]
    assert answers["weights"]["name"] in wrong_shape
    assert "(1, 2, 3)" in wrong_shape
    assert "no.such.weight" in wrong_name


def test_a_long_preparation_says_what_it_does(answers: Answers) -> None:
    assert answers["reports"]
    assert all(text and len(text) < 80 for text in answers["reports"]), answers["reports"]


def largest_difference(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
