"""Products in groups of rows, layers that sort rows by their values, and losses of that kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import Case, integers, normal, of, together, whole

ROW = normal((8,))


class GroupedExperts(nn.Module):
    """A mixture of experts as libraries write it: rows sorted by expert, one grouped product each.

    Args:
        chosen: experts for each row.
        stored: whether the weights are stored as (experts, outward, inward), as Linear's are.
        unused: whether no row goes to the first expert.
    """

    def __init__(self, chosen: int = 1, *, stored: bool = True, unused: bool = False) -> None:
        super().__init__()
        self.chosen, self.stored = chosen, stored
        self.router = nn.Linear(8, 4, bias=False)
        self.up = nn.Parameter(torch.randn(4, 16, 8) * 0.3)
        self.down = nn.Parameter(torch.randn(4, 8, 16) * 0.3)
        if unused:
            with torch.no_grad():
                self.router.weight[0] = 0.0
                self.router.weight[1] = -self.router.weight[2]

    def forward(self, x: Tensor) -> Tensor:
        weights, experts = self.router(x).softmax(-1).topk(self.chosen, dim=-1)
        order = experts.reshape(-1).argsort()
        counts = torch.histc(experts.float(), bins=4, min=0, max=3)
        ends = counts.cumsum(0, dtype=torch.int32)
        hidden = self.product(x[order // self.chosen], self.up, ends).tanh()
        result = self.product(hidden, self.down, ends) * weights.reshape(-1)[order].unsqueeze(-1)
        return result[order.argsort()].view(-1, self.chosen, 8).sum(1)

    def product(self, rows: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
        weight = weight.transpose(1, 2) if self.stored else weight.transpose(1, 2).contiguous()
        return functional.grouped_mm(rows, weight, offs=ends)


class Columns(nn.Module):
    """Groups of columns, and groups that are matrices of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4, 8))

    def forward(self, x: Tensor) -> Tensor:
        ends = torch.tensor([3, 0], dtype=torch.int32) + torch.tensor([0, 1]) * x.shape[0]
        columns = functional.grouped_mm(self.weight, x.t(), offs=ends.to(torch.int32))
        stacked = functional.grouped_mm(x.expand(2, -1, -1), self.weight.transpose(1, 2))
        return torch.cat([columns.t(), stacked[0], stacked[1]], 1)


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
    whole("grouped_mm, experts", (GroupedExperts, ROW), (partial(GroupedExperts, 2), ROW)),
    whole(
        "grouped_mm, weights turned",
        (partial(GroupedExperts, 2, stored=False), ROW),
        (partial(GroupedExperts, stored=False, unused=True), ROW),
    ),
    whole("grouped_mm, an expert without rows", (partial(GroupedExperts, unused=True), ROW)),
    whole("grouped_mm, of columns, of matrices", (Columns, ROW)),
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
