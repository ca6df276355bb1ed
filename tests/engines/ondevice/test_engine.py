"""Behaviour of the on-device engine alone; the rest is in the contract of all engines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.engines.ondevice.engine_probe import SETTINGS, STEPS, images
from workbench.engines.base import EngineSetup
from workbench.load import load_model
from workbench.settings.config import make_config
from workbench.user_code.user_code import SHA256_VARIABLE, UserCode, sha256_of

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the probe has run."""
    folder = tmp_path_factory.mktemp("ondevice")
    examples = {"normalized": images()[0].inputs, "tied": (np.zeros((2, 5), np.int64),)}
    code = UserCode()
    for name, inputs in examples.items():
        model = load_model(f"tests.engines.ondevice.modules:{name}", example_inputs=inputs)
        model.save(folder / name)
        code = code.merged_with(model.code)
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.ondevice.engine_probe", str(folder)],
        cwd=Path(__file__).parents[3],
        env=code.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout + done.stderr == "", "a log flood"
    return folder


@pytest.fixture(scope="module")
def answers(work: Path) -> dict[str, Any]:
    return dict(json.loads((work / "answers.json").read_text()))


def test_neither_torch_nor_onnx_is_ever_loaded(answers: dict[str, Any]) -> None:
    assert answers["loaded"] == []


def test_batch_normalization_equals_pytorch(
    work: Path, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses, weights, running statistics and counters after 50 steps, and the evaluation."""
    from workbench.engines.pytorch import PyTorchEngine

    # The engine builds the module in this process, as it does in a worker.
    factory = b"tests.engines.ondevice.modules:normalized"
    monkeypatch.setenv(SHA256_VARIABLE, sha256_of(factory))
    config = make_config({**SETTINGS, "engine": "pytorch"})
    engine = PyTorchEngine(EngineSetup(work / "normalized", work / "none", config, lambda _: None))
    batches = images()
    expected = [engine.train_step(batch) for batch in batches]
    assert len(expected) == STEPS
    difference = np.abs(np.array(answers["normalized"]["losses"]) - expected).max()
    assert difference < TOLERANCE, f"largest difference of the loss {difference:.1e}"
    weights = load_file(work / "normalized.safetensors")
    reference = engine.weights()
    assert weights.keys() == reference.keys()
    for name, value in reference.items():
        assert weights[name].dtype == value.dtype
        assert weights[name].shape == value.shape
        scale = max(1.0, float(np.abs(value).max()))
        difference = np.abs(weights[name] - value).max() / scale
        assert difference < TOLERANCE, f"largest difference of {name}: {difference:.1e}"
    loss = engine.evaluate(batches[0]).loss
    assert answers["normalized"]["evaluation"] == pytest.approx(loss, abs=TOLERANCE)


def test_what_takes_turns_takes_the_same_memory(answers: dict[str, Any]) -> None:
    """An evaluated batch lies where the step did; that is given back for a checkpoint."""
    grown = answers["memory"]
    assert grown["step"] > 20e6, "else there is nothing to see"
    assert grown["evaluation"] < 0.2 * grown["step"]
    assert grown["checkpoint"] < -0.5 * grown["step"]
    assert grown["next step"] > 0.5 * grown["step"], "it is taken again"


def test_training_continues_from_a_saved_state_as_without_interruption(
    answers: dict[str, Any],
) -> None:
    losses = answers["normalized"]["losses"][STEPS // 2 :]
    difference = np.abs(np.array(losses) - answers["normalized"]["resumed"]).max()
    assert difference < TOLERANCE, f"largest difference of the loss {difference:.1e}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other loss", "generated with loss='cross_entropy', but the run has loss='mse'"),
        ("small batch", "batch_size=1 leaves a batch normalization with one value a channel"),
        ("other target", "those of the dataset are int64 of shape [4] a row"),
    ],
)
def test_artifacts_that_do_not_suit_the_run_are_refused(
    name: str, message: str, answers: dict[str, Any]
) -> None:
    error = answers["normalized"]["errors"][name]
    assert error.startswith("EngineError")
    assert message in error


def test_tied_weights_have_both_names(answers: dict[str, Any]) -> None:
    tied = answers["tied"]
    assert tied["names"] == [
        "auxiliary.bias",
        "auxiliary.weight",
        "embedding.weight",
        "head.weight",
        "steps",
    ]
    assert tied["tied"]
    assert tied["loaded"], "loading one name of a tied weight loads the other"


def test_only_parameters_that_the_loss_depends_on_are_trained(answers: dict[str, Any]) -> None:
    assert answers["tied"]["changed"] == ["embedding.weight", "head.weight"]


def test_dropout_acts_in_training_alone(answers: dict[str, Any]) -> None:
    assert len(set(answers["tied"]["dropped"])) == 3
    assert len(set(answers["tied"]["kept"])) == 1


def test_classes_are_where_the_target_says(answers: dict[str, Any]) -> None:
    assert answers["tied"]["output_shape"] == [16, 7, 5]


def test_weights_that_do_not_fit_are_refused(answers: dict[str, Any]) -> None:
    assert "'nothing' of shape (1,) does not fit" in answers["tied"]["unknown"]
    assert "'head.weight' of shape (1,) does not fit" in answers["tied"]["misfit"]
