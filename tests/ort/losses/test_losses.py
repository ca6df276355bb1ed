"""Artifacts of losses with options, of several losses, and of functions of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.errors import ConfigError, DataError, UntrainableError
from workbench.models import Model

ROWS = np.random.default_rng(0).normal(size=(32, 6)).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, 4, 32)

pytestmark = pytest.mark.usefixtures("no_export_cache")


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits, self.aux, self.unread = nn.Linear(6, 4), nn.Linear(6, 2), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"unread": self.unread(x), "logits": self.logits(x), "aux": self.aux(x)}


@pytest.fixture(scope="module")
def heads() -> Model:
    return wb.load_model(Heads(), example_inputs=ROWS[:2], name="heads")


@pytest.fixture(scope="module")
def pair() -> wb.Dataset:
    """Two numbers and a class of each row."""
    return wb.load_dataset(ROWS, (ROWS[:, :2].copy(), LABELS), test_fraction=0)


def test_several_losses(heads: Model, pair: wb.Dataset, tmp_path: Path) -> None:
    loss = {"aux": wb.Loss("mse", factor=0.3), "logits": wb.Loss("nll", weight=[1, 2, 3, 4])}
    made = wb.generate_artifacts(heads, loss=loss, data=pair, directory=tmp_path / "artifacts")
    assert made.manifest["loss"] == [
        {"name": "mse", "factor": 0.3, "output": "aux"},
        {"name": "nll", "output": "logits", "weight": [1.0, 2.0, 3.0, 4.0]},
    ]
    fed = made.manifest["graphs"]["training"]["inputs"]
    assert fed[1] == {"name": "target_0", "shape": ["batch", 2], "dtype": "float32"}
    assert fed[2] == {"name": "target_1", "shape": ["batch"], "dtype": "int64"}
    results = [value["name"] for value in made.manifest["graphs"]["eval"]["outputs"]]
    assert results == ["loss", "aux", "logits", "loss.term", "loss.term.1"]
    assert set(made.frozen) == set(), "what no loss reads is no parameter of the graph"
    assert set(made.constants()) == {"unread.weight", "unread.bias"}
    onnx.checker.check_model(str(made.eval_model))


def test_a_function(heads: Model, pair: wb.Dataset, tmp_path: Path) -> None:
    def mine(outputs: Any, targets: Any) -> torch.Tensor:
        _, logits, aux = outputs
        numbers, labels = targets
        hinge = (1 - logits.gather(1, labels[:, None])).relu()
        return hinge.mean() + (aux - numbers).abs().sum() / numbers.shape[0]

    made = wb.generate_artifacts(heads, loss=mine, data=pair, directory=tmp_path / "artifacts")
    (record,) = made.manifest["loss"]
    assert record["name"] == "mine"
    assert len(record["function_sha256"]) == 64
    assert set(made.trainable) == {"logits.weight", "logits.bias", "aux.weight", "aux.bias"}
    results = [value["name"] for value in made.manifest["graphs"]["eval"]["outputs"]]
    assert results == ["loss", "unread", "logits", "aux"]


def sized(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).sum() / len(target)


def branching(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return output.mean() if output.mean() > 0 else (output - target).mean()


def constant(_: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return target.mean()


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (sized, UntrainableError, r"(?s)loss sized cannot be exported.*not len\(target\)"),
        (branching, UntrainableError, "loss branching cannot be exported"),
        (constant, UntrainableError, "loss does not depend on any trainable parameter"),
        (lambda output, target: output - target, ConfigError, "loss <lambda> returned a float32"),
        (lambda output, target: output @ target, UntrainableError, "loss <lambda> fails on output"),
    ],
)
def test_a_function_that_will_not_do(
    loss: object, error: type[Exception], message: str, tmp_path: Path
) -> None:
    model = wb.load_model(nn.Linear(6, 2), example_inputs=ROWS[:2])
    data = wb.load_dataset(ROWS, ROWS[:, :2].copy(), test_fraction=0)
    with pytest.raises(error, match=message):
        wb.generate_artifacts(model, loss=loss, data=data, directory=tmp_path / "artifacts")


@pytest.mark.fault
def test_wrong_losses_are_refused_before_anything_starts(
    heads: Model, pair: wb.Dataset, tmp_path: Path
) -> None:
    for settings, error, message in (
        ({"loss": sized}, ConfigError, "sized is a function, so the spec of its target is unknown"),
        ({"loss": ["mse", "mse"], "target_shape": (2,)}, ConfigError, "as data="),
        ({"loss": {"auxx": "mse"}}, ConfigError, "no output 'auxx'. Did you mean 'aux'"),
        ({"loss": "mse", "data": pair}, DataError, "pass one target for each loss"),
    ):
        with pytest.raises(error, match=message):
            wb.generate_artifacts(heads, directory=tmp_path / "artifacts", **settings)
    assert list(tmp_path.iterdir()) == []
