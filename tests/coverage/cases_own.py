"""Modules as people write them, with what the layers of the other groups leave out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize

from tests.coverage.case import Case, Variant, integers, normal, together, whole

ROW = normal((6,))


class Drawn(nn.Module):
    """A function that draws, between two layers."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.before, self.function, self.after = nn.Linear(6, 6), function, nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.function(self.before(x)))


class DropPath(nn.Module):
    """A residual block that is left out for some rows."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        kept = x.new_empty((x.shape[0], 1)).bernoulli_(0.8)
        return x + self.layer(x).tanh() * kept / 0.8


class Policy(nn.Module):
    """Draws an action, and tells how likely it was."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(6, 2), nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        actions = Normal(self.mean(x), self.spread.exp())
        drawn = actions.rsample()
        return torch.cat([drawn, actions.log_prob(drawn.detach()), actions.entropy()], -1)


class Choice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Linear(6, 4)

    def forward(self, x: Tensor, action: Tensor) -> Tensor:
        actions = Categorical(logits=self.logits(x))
        return actions.log_prob(action) + 0.1 * actions.entropy()


class Experts(nn.Module):
    """Each expert gets the rows that were sent to it, which may be none.

    Args:
        assign: how the results come back, by assignment to the rows or by addition.
    """

    def __init__(self, *, assign: bool) -> None:
        super().__init__()
        self.assign, self.gate = assign, nn.Linear(6, 4, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6, bias=False)) for _ in range(4)
        )
        with torch.no_grad():
            self.gate.weight[0] = -30.0

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = torch.softmax(self.gate(x.abs()), -1).max(-1)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mine = chosen == number
            if self.assign:
                result[mine] = expert(x[mine]) * weight[mine].unsqueeze(-1)
            else:
                rows = mine.nonzero().squeeze(-1)
                result = result.index_add(0, rows, expert(x[rows]) * weight[rows].unsqueeze(-1))
        return result


class GraphAttention(nn.Module):
    """Attention along the edges of a graph that is given with every row."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.left, self.right = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        found = self.layer(nodes)
        start, end = (edges[:, side].unsqueeze(-1) for side in (0, 1))
        score = self.left(found).gather(1, start) + self.right(found).gather(1, end)
        score = functional.leaky_relu(score, 0.2).exp()
        zero = torch.zeros_like(found[..., :1])
        total = zero.scatter_add(1, end, score).gather(1, end) + 1e-9
        sent = found.gather(1, start.expand(-1, -1, 4)) * (score / total)
        return found + torch.zeros_like(found).scatter_add(1, end.expand(-1, -1, 4), sent)


class Generated(nn.Module):
    """A layer whose weights another layer makes, for every row its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maker = nn.Linear(4, 5 * 6 + 5)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        made = self.maker(code)
        weight, bias = made[:, :30].view(-1, 5, 6), made[:, 30:]
        return torch.relu(torch.bmm(weight, x.unsqueeze(-1)).squeeze(-1) + bias)


class Selective(nn.Module):
    """A state space layer whose steps are a loop, as in Mamba."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.rand(4, 3))
        self.project, self.skip = nn.Linear(4, 4 + 6), nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        step, write, read = self.project(x).split([4, 3, 3], -1)
        step = functional.softplus(step)
        kept = torch.exp(torch.einsum("bld,dn->bldn", step, -self.decay.exp()))
        put = torch.einsum("bld,bln,bld->bldn", step, write, x)
        state, results = torch.zeros(x.shape[0], 4, 3), []
        for place in range(x.shape[1]):
            state = kept[:, place] * state + put[:, place]
            results.append(torch.einsum("bdn,bn->bd", state, read[:, place]))
        return torch.stack(results, 1) + x * self.skip


class InPlace(nn.Module):
    """Changes its own results in place, whole and in part."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        hidden += 1
        hidden.mul_(2).clamp_(-2, 2)
        hidden[:, 0] = hidden[:, 1] * 2
        hidden[:, 2:4] += self.second(x)[:, :2]
        hidden[hidden < -1] = 0.1
        return hidden.add_(x, alpha=0.5)


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).transpose(-1, -2)


def of_symmetric_weight() -> nn.Module:
    layer = nn.Linear(6, 6)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    return nn.Sequential(layer, nn.Tanh())


def of_orthogonal_weight(*sizes: int) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        return nn.Sequential(*(parametrizations.orthogonal(layer) for layer in layers), nn.Tanh())

    return make


def discriminator() -> nn.Module:
    """Spectral norm, whose vectors follow the weights by the power method."""
    norm = parametrizations.spectral_norm
    return nn.Sequential(
        *(norm(nn.Conv2d(2, 4, 4, 2, 1)), nn.LeakyReLU(0.2, inplace=True)),
        *(nn.Flatten(), norm(nn.Linear(64, 1))),
    )


def drawn(name: str, function: Callable[[Tensor], Tensor]) -> Case:
    return fixed(name, lambda: Drawn(function), ROW)


def fixed(name: str, make: Callable[[], nn.Module], sample: Any) -> Case:
    """A case of a module that draws, whose draws are constants."""
    return Case(name, (Variant(make, sample, draws=True),))


CASES: tuple[Case, ...] = (
    drawn("gumbel_softmax", lambda x: functional.gumbel_softmax(x, tau=0.7)),
    drawn("gumbel_softmax, hard", lambda x: functional.gumbel_softmax(x, tau=0.7, hard=True)),
    drawn("RReLU", nn.RReLU()),
    drawn("rrelu that draws nothing", functional.rrelu),
    drawn("rrelu of torch", lambda x: torch.rrelu(x, 0.1, 0.4, training=True)),
    drawn("rrelu in place", lambda x: functional.rrelu_(x * 1.0, 0.1, 0.4, training=True)),
    drawn("AlphaDropout", nn.AlphaDropout(0.2)),
    drawn("FeatureAlphaDropout", nn.FeatureAlphaDropout(0.2)),
    fixed("stochastic depth by bernoulli_", DropPath, ROW),
    fixed("distributions.Normal", Policy, ROW),
    whole("distributions.Categorical", (Choice, together(ROW, integers(4, ())))),
    whole("experts, rows by index_add", (lambda: Experts(assign=False), ROW)),
    whole("experts, rows by a mask", (lambda: Experts(assign=True), ROW)),
    whole("graph attention", (GraphAttention, together(normal((5, 3)), integers(5, (2, 7))))),
    whole("weights made by a layer", (Generated, normal((6,), (4,)))),
    whole("selective state space", (Selective, normal((5, 4)))),
    whole("changes in place", (InPlace, ROW)),
    whole("parametrization of one's own", (of_symmetric_weight, ROW)),
    whole("orthogonal weight", (of_orthogonal_weight(6, 6), ROW)),
    whole("orthogonal weights, tall and wide", (of_orthogonal_weight(6, 3, 7), ROW)),
    whole("spectral norm", (discriminator, normal((2, 8, 8)))),
)
