"""Models whose rows depend on each other are refused for several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import workbench as wb
from workbench.data import Batch
from workbench.engines.torch_base.independent_rows import refuse_mixed_rows
from workbench.engines.torch_base.torch_losses import TotalLoss
from workbench.errors import ConfigError, UntrainableError
from workbench.losses.loss_functions import write_functions
from workbench.losses.loss_list import as_losses

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(8, 12)).astype(np.float32)
Y = np.array([0, 1, -100, 2, 4, 3, -100, -100])


class Network(nn.Module):
    """Computes `function` of its layer's output, counts its calls and changes its input."""

    def __init__(self, function: Callable[[Tensor], Tensor] = lambda x: x) -> None:
        super().__init__()
        self.linear = nn.Linear(12, 5)
        self.function = function
        self.calls = 0
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen += len(x)
        x *= 1
        return self.function(self.linear(x))


def look(module: nn.Module, loss: Any, folder: Any, y: np.ndarray = Y) -> None:
    losses = as_losses(loss)
    folder.mkdir(exist_ok=True)
    losses = write_functions(losses, folder)
    batch = Batch((X.copy(),), y)
    refuse_mixed_rows(module, TotalLoss(losses, ["output"], folder), losses, batch, 2)
    assert (batch.inputs[0] == X).all()


def mean_of_rows(output: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(output, target.clamp(min=0), reduction="none").mean()


def sum_of_rows(output: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(output, target.clamp(min=0), reduction="sum")


def between_rows(output: Tensor, _: Tensor) -> Tensor:
    return functional.cross_entropy(output @ output.T, torch.arange(len(output)))


@pytest.mark.parametrize(
    "loss",
    [
        "cross_entropy",
        wb.Loss("cross_entropy", weight=[1.0, 2.0, 3.0, 0.5, 4.0], label_smoothing=0.1),
        mean_of_rows,
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        nn.Identity(),
        nn.Dropout(0.5),
        lambda x: x + torch.rand_like(x),
        lambda x: x[:, torch.randperm(x.shape[1])],
        lambda x: x.half(),
    ],
)
def test_models_with_independent_rows_are_accepted(
    loss: Any, function: Callable[[Tensor], Tensor], tmp_path: Any
) -> None:
    module = Network(function)
    before = torch.get_rng_state()
    look(module, loss, tmp_path / "model")
    assert (module.calls, float(module.seen)) == (0, 0), "the module itself is not called"
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.fault
@pytest.mark.parametrize("loss", [sum_of_rows, between_rows])
def test_a_loss_that_is_no_mean_over_rows_is_refused(loss: Any, tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=rf"loss {loss.__name__} is \S+ of 4 rows, but \S+ as"):
        look(Network(), loss, tmp_path / "model")


@pytest.mark.fault
def test_a_model_whose_rows_depend_on_each_other_is_refused(tmp_path: Any) -> None:
    with pytest.raises(UntrainableError, match="depends on the other rows"):
        look(Network(lambda x: x - x.mean(0)), "cross_entropy", tmp_path / "model")


def test_models_that_cannot_be_checked_are_accepted(tmp_path: Any) -> None:
    look(Network(lambda x: x.reshape(16, 5)), "cross_entropy", tmp_path / "model")
    labels = np.full(8, -100)
    look(Network(), "cross_entropy", tmp_path / "model", labels)
