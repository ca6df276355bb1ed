"""Exported random functions: how often they draw, and what they leave unchanged.

Their training is tested in tests/coverage.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn
from torch.nn import functional

from workbench.export.export import export_onnx


class Draws(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function, self.scale = function, nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x * self.scale)


def results(function: Callable[[Tensor], Tensor]) -> np.ndarray:
    """Of 20,000 numbers, those of the exported graph; of a normal distribution."""
    x = torch.randn(100, 200, generator=torch.Generator().manual_seed(0))
    model = export_onnx(Draws(function), (x,), input_names=["x"], output_names=["y"], training=True)
    (made,) = ReferenceEvaluator(model).run(None, {"x": x.numpy()})
    return np.asarray(made)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.zeros_like(x).bernoulli_(0.8),
        lambda x: torch.bernoulli(torch.full_like(x, 0.8)),
    ],
)
def test_bernoulli_draws_as_often_as_it_should(function: Callable[[Tensor], Tensor]) -> None:
    share = results(function).mean()
    assert abs(share - 0.8) < 0.02, f"{share} where 0.8 is due"


def test_uniform_draws_between_bounds_that_are_tensors() -> None:
    made = results(lambda x: torch.empty_like(x).uniform_(-torch.sqrt(torch.tensor(4.0)), to=3))
    assert made.min() >= -2
    assert made.max() <= 3
    assert abs(made.mean() - 0.5) < 0.05, f"mean {made.mean()}"
    assert abs(made.std() - 5 / np.sqrt(12)) < 0.05, f"standard deviation {made.std()}"


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    """Of what SELU is fed with: mean 0 and variance 1."""
    made = results(nn.AlphaDropout(0.3))
    assert abs(made.mean()) < 0.03, f"mean {made.mean()}"
    assert abs(made.var() - 1) < 0.05, f"variance {made.var()}"


def test_rrelu_draws_its_slope_between_the_bounds() -> None:
    x = torch.randn(100, 200, generator=torch.Generator().manual_seed(0)).numpy()
    slope = (results(nn.RReLU(0.1, 0.5)) / x)[x < 0]
    assert slope.min() >= 0.1
    assert slope.max() <= 0.5
    assert abs(slope.mean() - 0.3) < 0.01, f"mean slope {slope.mean()}"


def test_a_hard_gumbel_softmax_chooses_one() -> None:
    made = results(lambda x: functional.gumbel_softmax(x, hard=True))
    np.testing.assert_allclose(made.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(made.max(-1), 1, atol=1e-6)
