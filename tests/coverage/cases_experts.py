"""Counts, and losses that sort their rows by values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import Case, integers, normal, of, together, whole

ROW = normal((8,))


class Adaptive(nn.Module):
    """The log probability of each row's target; the clusters of rare ones are narrower."""

    def __init__(self, *, head_bias: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.loss = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], 2.0, head_bias)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        output, loss = self.loss(self.first(x), target)
        return output * loss


class Likelihood(nn.Module):
    """A Gaussian whose mean and variance a layer tells; some variances are below eps."""

    def __init__(self, variance: Callable[[Tensor], Tensor | float]) -> None:
        super().__init__()
        self.layer, self.variance = nn.Linear(8, 16), variance

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        mean, spread = self.layer(x).chunk(2, -1)
        return functional.gaussian_nll_loss(
            mean, target, self.variance(spread), full=True, eps=0.2, reduction="none"
        )


CASES: tuple[Case, ...] = (
    of("histc", lambda x: x + torch.histc(x.detach(), 8, -2.0, 2.0), ROW),
    of("histc, bounds of the values", lambda x: x * torch.histc(x.detach(), 8), ROW),
    whole(
        "AdaptiveLogSoftmaxWithLoss",
        (Adaptive, together(ROW, integers(12, ()))),
        (partial(Adaptive, head_bias=True), together(ROW, integers(3, ()))),
    ),
    whole(
        "GaussianNLLLoss",
        (partial(Likelihood, Tensor.square), together(ROW, ROW)),
        (partial(Likelihood, lambda spread: spread.square().mean(-1)), together(ROW, ROW)),
        (partial(Likelihood, lambda _: 0.5), together(ROW, ROW)),
    ),
)
