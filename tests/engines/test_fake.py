"""The fake engine: four losses like torch's, and misbehaviour on request."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from workbench.data import Batch
from workbench.engines.base import EngineSetup
from workbench.engines.fake import FakeEngine
from workbench.engines.fake_behaviour import BEHAVIOUR_VARIABLE
from workbench.engines.fake_losses import loss_and_gradient, the_loss
from workbench.errors import EngineError
from workbench.load import load_model
from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.losses.loss_list import as_losses
from workbench.settings.config import TrainingConfig

BATCH = Batch((np.ones((4, 1, 8, 8), np.float32),), np.array([0, 1, 2, 3]))


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "saved"
    load_model("digits-mlp").save(path)
    return path


def build(model_path: Path) -> FakeEngine:
    config = TrainingConfig(engine="fake", batch_size=4)
    return FakeEngine(EngineSetup(model_path, model_path, config, lambda text: None))


def test_it_raises_at_its_step(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BEHAVIOUR_VARIABLE, '{"raise_at": 2}')
    engine = build(model_path)
    assert np.isfinite(engine.train_step(BATCH))
    with pytest.raises(EngineError, match="step 2"):
        engine.train_step(BATCH)


def test_it_raises_while_building(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BEHAVIOUR_VARIABLE, '{"raise_while_building": true, "build_ms": 1}')
    with pytest.raises(EngineError, match="while building"):
        build(model_path)


def test_its_loss_becomes_nan(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BEHAVIOUR_VARIABLE, '{"nan_at": 2, "step_ms": 0.1}')
    engine = build(model_path)
    losses = [engine.train_step(BATCH) for _ in range(3)]
    assert list(np.isnan(losses)) == [False, True, True]


def test_it_keeps_what_it_allocates(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BEHAVIOUR_VARIABLE, '{"allocate_bytes": 1000, "allocate_from": 2}')
    engine = build(model_path)
    for _ in range(3):
        engine.train_step(BATCH)
    assert sum(array.nbytes for array in engine.kept) == 2000


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGKILL"])
def test_it_dies_of_a_signal(name: str, tmp_path: Path, model_path: Path) -> None:
    source = f"""
        import os
        os.environ["{BEHAVIOUR_VARIABLE}"] = '{{"signal_at": [2, "{name}"]}}'
        from pathlib import Path
        from tests.engines.test_fake import BATCH, build
        engine = build(Path({str(model_path)!r}))
        engine.train_step(BATCH)
        print("one", flush=True)
        engine.train_step(BATCH)
        print("two", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "one\n", done.stderr
    assert done.returncode == -signal.Signals[name]


def test_an_unknown_misbehaviour_is_refused(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BEHAVIOUR_VARIABLE, '{"raise_on": 2}')
    with pytest.raises(EngineError, match="raise_on"):
        build(model_path)


WEIGHTS = [0.5, 2.0, 1.0, 3.0, 1.5]
"""One for each of five classes."""


@pytest.mark.parametrize(
    "loss", [lambda output, target: output.sum(), ["mse", "mse"], {"hidden": "mse"}]
)
def test_models_that_the_fake_cannot_train_are_refused(loss: object) -> None:
    with pytest.raises(EngineError, match="one loss with a name, or use another engine"):
        the_loss(as_losses(loss), "output")


@pytest.mark.parametrize(
    ("loss", "output_shape", "target_shape"),
    [
        ("nll", (6, 5), (6,)),
        ("smooth_l1", (6, 5), (6, 5)),
        (Loss("smooth_l1", beta=20), (6, 5), (6, 5)),
        (Loss("smooth_l1", beta=0), (6, 5), (6, 5)),
        (Loss("mse", factor=0.3), (6, 5), (6, 5)),
        (Loss("cross_entropy", ignore_index=2, label_smoothing=0.2), (6, 5), (6,)),
        (Loss("cross_entropy", weight=WEIGHTS, ignore_index=2), (6, 4, 5), (6, 4)),
        (Loss("cross_entropy", weight=WEIGHTS, label_smoothing=0.2), (6, 5, 4), (6, 4)),
        (Loss("cross_entropy", weight=WEIGHTS, label_smoothing=0.2), (6, 5, 3), (6, 5, 3)),
        (Loss("nll", weight=WEIGHTS, ignore_index=2), (6, 5, 4), (6, 4)),
        (Loss("bce_with_logits", weight=WEIGHTS, pos_weight=WEIGHTS), (6, 5), (6, 5)),
        ("cross_entropy", (6, 5), (6,)),
        ("cross_entropy", (6, 4, 5), (6, 4)),
        ("cross_entropy", (6, 5, 4), (6, 4)),
        ("mse", (6, 5), (6, 5)),
        ("l1", (6, 5), (6, 5)),
        ("bce_with_logits", (6, 1), (6, 1)),
    ],
)
def test_its_losses_are_those_of_the_torch_engines(
    loss: str | Loss, output_shape: tuple[int, ...], target_shape: tuple[int, ...]
) -> None:
    import torch

    from workbench.engines.torch_base.torch_losses import loss_function

    random = np.random.default_rng(0)
    output = (random.standard_normal(output_shape) * 50).astype(np.float32)
    classes = random.integers(0, 4, target_shape)
    numbers = as_losses(loss)[0].name in CLASS_LOSSES and output_shape != target_shape
    target = classes if numbers else (classes % 2).astype(np.float32)
    value, gradient = loss_and_gradient(loss, output.copy(), target)
    reference = torch.tensor(output, requires_grad=True)
    expected = loss_function(loss)(reference, torch.from_numpy(target))
    (expected_gradient,) = torch.autograd.grad(expected, reference)
    worst = float(np.abs(gradient - expected_gradient.numpy()).max())
    assert value == pytest.approx(expected.item(), rel=1e-5)
    assert worst <= 1e-6, f"gradients differ by {worst}"
