"""A checkpoint that is written by a process of its own holds what the module holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.artifacts.generation.checkpoint import LARGE_BYTES, write_checkpoint_isolated
from workbench.errors import ArtifactsError
from workbench.export.export import export_onnx
from workbench.models import Model

FEATURES = 4100


@pytest.fixture(scope="module")
def module() -> nn.Module:
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.Linear(FEATURES, 3))
    assert 4 * sum(each.numel() for each in made.parameters()) > LARGE_BYTES
    return made


@pytest.fixture(scope="module")
def model(module: nn.Module) -> Model:
    return wb.load_model(module, example_inputs=np.zeros((2, FEATURES), np.float32))


@pytest.mark.sweep
def test_nothing_is_left_beside_the_artifacts(model: Model, tmp_path: Path) -> None:
    made = wb.generate_artifacts(
        model, loss="cross_entropy", optimizer="sgd", directory=tmp_path / "made"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert made.checkpoint.stat().st_size > LARGE_BYTES


@pytest.mark.sweep
def test_training_begins_with_the_modules_weights(
    module: nn.Module, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    x = np.random.default_rng(0).normal(size=(4, FEATURES)).astype(np.float32)
    y = np.array([0, 1, 2, 0])
    data = wb.load_dataset(x, y, test_fraction=0.0)
    run = wb.train(model, data, engine="ondevice", steps=1, batch_size=4).wait()
    with torch.no_grad():
        expected = nn.functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y))
    assert run.history["loss"].iloc[0] == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.sweep
@pytest.mark.fault
def test_a_failed_process_is_an_error(module: nn.Module, tmp_path: Path) -> None:
    x = np.zeros((2, FEATURES), np.float32)
    graph = export_onnx(module, (x,), input_names=["x"], output_names=["y"], training=True)
    missing = tmp_path / "missing" / "checkpoint"
    with pytest.raises(ArtifactsError, match="writes the checkpoint"):
        write_checkpoint_isolated(graph, ["0.weight"], [], missing, tmp_path)
