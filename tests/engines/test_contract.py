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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_
from torch.optim import lr_scheduler

from tests.engines.contract_probe import (
    BATCH_SIZE,
    OPTION_STEPS,
    OPTIONS,
    STEPS,
    observed_of,
    options_of,
    parts_of,
)
from tests.engines.needed import unavailable
from tests.engines.plain_lora import train_head, train_with_lora
from tests.fork_server import forked
from workbench.load import load_dataset, load_model
from workbench.settings.engines import engine_table

Answers = dict[str, Any]
ROOT = Path(__file__).parents[2]
PROBE = "tests.engines.contract_probe"
AVAILABLE = """
import json, sys
from workbench.engines import engine_class
available = engine_class(sys.argv[1]).availability()
loaded = [name for name in ("torch", "onnxruntime") if name in sys.modules]
print(json.dumps({**available._asdict(), "loaded": loaded}))
"""


def engines_with(part: str) -> list[str]:
    """The engines that do this part: all of them in `make test-all`."""
    return [engine for engine in engine_table() if part in parts_of(engine)]


TRIED = [(engine, each) for engine in engines_with("options") for each in options_of(engine)]
OBSERVED = [(engine, each) for engine in engines_with("observed") for each in observed_of(engine)]


@pytest.fixture(scope="module")
def answers_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:
    """The answers of an engine's probe, which runs at the first question."""
    model = tmp_path_factory.mktemp("model")
    load_model("digits-mlp").save(model / "saved")
    load_model("digits-cnn").save(model / "normalized")
    known: dict[str, Answers] = {}

    def ask(name: str) -> Answers:
        if name not in known:
            work = tmp_path_factory.mktemp(name)
            result = work / "answers.json"
            done = subprocess.run(
                [*python_of(name), name, model / "saved", work, result],
                capture_output=True,
                text=True,
                check=False,
                cwd=work,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            )
            answers = json.loads(result.read_text()) if result.exists() else {}
            known[name] = {
                "exit": done.returncode,
                "log": done.stderr[-4000:],
                "work": str(work),
                **answers,
            }
        answers = known[name]
        assert answers["exit"] == 0, f"{name} ended with {answers['exit']}:\n{answers['log']}"
        return answers

    return ask


def python_of(engine: str) -> list[Any]:
    """The command that runs the probe of an engine: without torch where the engine is."""
    if engine_table()[engine].needs_module:
        return forked("-m", PROBE, warnings="error")
    return [sys.executable, "-W", "error", "-m", PROBE]


@cache
def availability(engine: str) -> Answers:
    """What an engine says of itself in a process that has imported nothing."""
    command = [sys.executable, "-c", AVAILABLE, engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


@pytest.fixture(params=list(engine_table()))
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def answers(name: str, answers_of: Callable[[str], Answers]) -> Answers:
    if not availability(name)["ok"]:
        unavailable(name, availability(name)["reason"])
    return answers_of(name)


def test_availability_says_why_and_what_to_do(name: str) -> None:
    available = availability(name)
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


@pytest.mark.parametrize("name", engines_with("evaluation"))
def test_evaluation_changes_nothing(answers: Answers) -> None:
    evaluation = answers["evaluation"]
    assert evaluation["changed"] == 0, "weights moved, or weights() gave no copy"
    assert evaluation["repeated"] == 0


@pytest.mark.parametrize("name", engines_with("evaluation"))
def test_any_batch_will_do(answers: Answers) -> None:
    evaluation = answers["evaluation"]
    shape, loss = evaluation["small_batch"]
    assert shape == [3, 10]
    assert 0 < loss < 10
    assert evaluation["read_only"] == 0
    assert 0 < evaluation["read_only_step"] < 10


@pytest.mark.parametrize("name", engines_with("gradients"))
def test_gradients_take_no_step(answers: Answers) -> None:
    gradients = answers["gradients"]
    assert gradients["changed"] == 0, "weights or buffers moved"
    assert gradients["repeated"] <= 1e-6
    assert gradients["dtypes"] == ["float32"]
    assert abs(gradients["loss"] - answers["training"]["losses"][0]) <= 1e-6


@pytest.mark.parametrize("name", engines_with("gradients"))
def test_a_step_follows_the_gradients(answers: Answers) -> None:
    worst = answers["gradients"]["step"]
    assert worst <= 1e-6, f"weights after a step of SGD with weight decay are off by {worst}"


@pytest.mark.parametrize("name", engines_with("gradients"))
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


@pytest.mark.parametrize(("name", "options"), OBSERVED)
def test_an_observed_step_is_a_step(options: str, answers: Answers) -> None:
    observed = answers["observed"][options]
    assert observed["from_plain"] <= 1e-7, "to look at a step changes it"
    for step in observed["steps"]:
        seen, plain = step["loss"]
        assert abs(seen - plain) <= 1e-7


@pytest.mark.parametrize(("name", "options"), OBSERVED)
def test_norms_of_gradients_and_updates_are_pytorchs(
    options: str, name: str, answers: Answers, answers_of: Callable[[str], Answers]
) -> None:
    """Of "adamw" gradients are clipped to 0.001, and their norms are those from before that."""
    steps = answers["observed"][options]["steps"]
    reference = answers_of("pytorch" if name != "fake" else name)["observed"][options]["steps"]
    for step, expected in zip(steps, reference, strict=True):
        assert step["norms"].keys() == expected["norms"].keys()
        assert max(gradient for gradient, _, _ in step["norms"].values()) > 0.01
        for parameter, norms in expected["norms"].items():
            np.testing.assert_allclose(
                step["norms"][parameter], norms, rtol=1e-5, atol=1e-9, err_msg=parameter
            )


@pytest.mark.parametrize("name", [name for name, options in OBSERVED if options == "sgd-unclipped"])
def test_the_first_norms_are_those_of_the_first_gradient(name: str, answers: Answers) -> None:
    """Beside a plain loop of PyTorch: two batches, averaged."""
    if name == "fake":
        return
    torch.set_num_threads(1)
    module = load_model("digits-mlp").module()
    for batch in list(load_dataset("digits").train.batches(BATCH_SIZE, 0, 1))[:2]:
        output = module(torch.from_numpy(batch.inputs[0]))
        loss = functional.cross_entropy(output, torch.from_numpy(batch.target))
        (loss / 2).backward()  # type: ignore[no-untyped-call]
    found = answers["observed"]["sgd-unclipped"]["steps"][0]["norms"]
    for parameter, value in module.named_parameters():
        assert value.grad is not None
        gradient, weight, update = found[parameter]
        assert gradient == pytest.approx(float(value.grad.norm()), rel=1e-5), parameter
        assert weight == pytest.approx(float(value.detach().norm()), rel=1e-5)
        expected = 0.1 * (value.grad + 0.05 * value.detach()).norm()
        assert update == pytest.approx(float(expected), rel=1e-4), parameter


@pytest.mark.parametrize("name", engines_with("learning_rate"))
def test_the_learning_rate_holds_from_the_next_step(answers: Answers) -> None:
    none, some, twice = answers["learning_rate"]["moved"]
    assert none == 0
    assert some > 0
    assert twice == pytest.approx(2 * some, rel=1e-2), "AdamW on one gradient is proportional"


@pytest.mark.parametrize("name", engines_with("frozen"))
def test_frozen_parameters_stay(answers: Answers) -> None:
    frozen = answers["frozen"]
    for parameter, moved in frozen["moved"].items():
        trained = any(fnmatchcase(parameter, pattern) for pattern in frozen["patterns"])
        assert (moved > 0) == trained, f"{parameter} moved by {moved}"
        assert (parameter in frozen["gradients"]) == trained, f"gradient to {parameter}"
    assert frozen["losses"][-1] < frozen["losses"][0]


@pytest.mark.parametrize("name", engines_with("weights"))
def test_weights_can_be_put_back(answers: Answers) -> None:
    training, weights = answers["training"], answers["weights"]
    worst = abs(training["restored_loss"] - training["first_loss_evaluated"])
    assert worst <= 1e-6, f"loss after loading the initial weights differs by {worst}"
    assert weights["set"] == 0
    assert weights["others"] == 0, "weights that were not given changed"


@pytest.mark.parametrize("name", engines_with("weights"))
def test_a_weight_that_does_not_fit_is_refused(answers: Answers) -> None:
    wrong_shape, wrong_name = answers["weights"]["refused"]
    assert answers["weights"]["name"] in wrong_shape
    assert "(1, 2, 3)" in wrong_shape
    assert "no.such.weight" in wrong_name


@pytest.mark.parametrize(("name", "options"), TRIED)
def test_schedule_accumulation_and_clipping_are_pytorchs(
    options: str, name: str, answers: Answers
) -> None:
    """Beside a plain loop of PyTorch; the fake trains a model of its own."""
    losses = answers["options"][options]
    assert losses[-1] < losses[0]
    if name == "fake":
        return
    expected, weights = by_plain_pytorch(options)
    worst = largest_difference(losses, expected)
    assert worst <= 1e-5, f"losses of 100 steps differ from PyTorch's by {worst}"
    found = load_file(Path(answers["work"]) / f"{options}.safetensors")
    for parameter, value in weights.items():
        off = float(np.abs(found[parameter] - value).max() / max(1.0, np.abs(value).max()))
        assert off <= 1e-5, f"{parameter} differs from PyTorch's by {off}"


@cache
def by_plain_pytorch(options: str) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses and weights of a loop as PyTorch's documentation writes it."""
    settings = OPTIONS[options]
    torch.set_num_threads(1)
    module = load_model("digits-mlp").module()
    module.train()
    rate = settings.get("learning_rate", 2e-3)
    optimizer: torch.optim.Optimizer
    if options == "adamw":
        optimizer = torch.optim.AdamW(module.parameters(), lr=rate)
    else:
        decay = settings["weight_decay"]
        optimizer = torch.optim.SGD(module.parameters(), lr=rate, weight_decay=decay)
    warmup = settings["lr_warmup_steps"]
    left = OPTION_STEPS - warmup
    falls: dict[str, Callable[[], lr_scheduler.LRScheduler]] = {
        "linear": lambda: lr_scheduler.LinearLR(optimizer, 1, 0, left),
        "cosine": lambda: lr_scheduler.CosineAnnealingLR(optimizer, left),
        "polynomial": lambda: lr_scheduler.PolynomialLR(optimizer, left, settings["lr_power"]),
    }
    start = lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
    fall = falls[settings["lr_schedule"]]()
    schedule = lr_scheduler.SequentialLR(optimizer, [start, fall], milestones=[warmup])
    data = load_dataset("digits")
    batches = list(data.train.batches(BATCH_SIZE, 0, 1))
    losses = []
    for step in range(OPTION_STEPS):
        total = 0.0
        for part in (0, 1):
            batch = batches[(2 * step + part) % STEPS % len(batches)]
            output = module(torch.from_numpy(batch.inputs[0]))
            loss = functional.cross_entropy(output, torch.from_numpy(batch.target))
            (loss / 2).backward()  # type: ignore[no-untyped-call]
            total += loss.item() / 2
        if "max_grad_norm" in settings:
            clip_grad_norm_(module.parameters(), settings["max_grad_norm"])
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(total)
    return losses, {key: value.numpy() for key, value in module.state_dict().items()}


@pytest.mark.parametrize("name", engines_with("lora"))
def test_lora_is_that_of_plain_pytorch(name: str, answers: Answers) -> None:
    lora, work = answers["lora"], Path(answers["work"])
    assert lora["losses"][-1] < lora["losses"][0]
    if name == "fake":
        return
    initial, found = (load_file(work / f"{each}.safetensors") for each in ("lora-initial", "lora"))
    expected, weights = train_with_lora(initial)
    worst = largest_difference(lora["losses"], expected)
    assert worst <= 1e-5, f"losses of 100 steps with LoRA differ from PyTorch's by {worst}"
    assert found.keys() == weights.keys()
    worst = largest_weight_difference(found, weights)
    assert worst <= 1e-5, f"weights after 100 steps with LoRA differ from PyTorch's by {worst}"
    for parameter, value in initial.items():
        trained = parameter.startswith("output.") or ".lora_" in parameter
        assert np.array_equal(found[parameter], value) != trained, parameter


@pytest.mark.parametrize("name", engines_with("lora"))
def test_adapters_begin_as_in_peft(name: str, answers: Answers) -> None:
    if name == "fake":
        return
    initial = load_file(Path(answers["work"]) / "lora-initial.safetensors")
    a, b = initial["hidden1.lora_A.weight"], initial["hidden1.lora_B.weight"]
    assert a.shape == (4, 64)
    assert b.shape == (128, 4)
    assert not b.any()
    # Kaiming's uniform distribution with a = sqrt(5): standard deviation 1 / sqrt(3 * inputs).
    assert np.abs(a).max() <= 1 / 8
    assert a.std() == pytest.approx(1 / np.sqrt(3 * 64), rel=0.1)


@pytest.mark.parametrize("name", engines_with("lora"))
def test_lora_continues_from_a_checkpoint_bit_for_bit(answers: Answers) -> None:
    lora = answers["lora"]
    assert lora["resumed"] == lora["last"]
    assert lora["resumed_weights"] == 0


@pytest.mark.parametrize("name", engines_with("head"))
def test_a_head_alone_is_trained_as_in_pytorch(name: str, answers: Answers) -> None:
    """Frozen parameters keep every bit, and batch normalization moves its running statistics."""
    head, work = answers["head"], Path(answers["work"])
    assert head["losses"][-1] < head["losses"][0]
    if name == "fake":
        return
    initial, found = (load_file(work / f"{each}.safetensors") for each in ("head-initial", "head"))
    expected, weights = train_head()
    worst = largest_difference(head["losses"], expected)
    assert worst <= 1e-5, f"losses of 100 steps differ from PyTorch's by {worst}"
    worst = largest_weight_difference(found, weights)
    assert worst <= 1e-5, f"weights and statistics differ from PyTorch's by {worst}"
    assert found["norm1.num_batches_tracked"] == 100
    for parameter, value in initial.items():
        kept = parameter.endswith((".weight", ".bias")) and not parameter.startswith("output.")
        assert np.array_equal(found[parameter], value) == kept, parameter


@pytest.mark.parametrize("name", engines_with("state"))
def test_an_engine_continues_from_a_checkpoint_bit_for_bit(answers: Answers) -> None:
    state = answers["state"]
    assert state["again"] == state["losses"]
    assert state["weights"] == 0
    assert "weights.safetensors" in state["files"]
    assert len(state["files"]) > 1, "nothing but the weights was kept"


def test_a_long_preparation_reports_its_progress(answers: Answers) -> None:
    assert answers["reports"]
    assert all(text and len(text) < 80 for text in answers["reports"]), answers["reports"]


def largest_weight_difference(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Relative to weights larger than 1."""
    return max(
        float(np.abs(found[name] - value).max() / max(1.0, np.abs(value).max()))
        for name, value in expected.items()
    )


def largest_difference(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
