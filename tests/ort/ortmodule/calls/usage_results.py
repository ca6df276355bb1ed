"""Uses of a module with arguments and results of many kinds."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.calls.usage import gradients, step


@dataclasses.dataclass
class Output:
    logits: Tensor
    hidden: list[Tensor]
    rows: int
    note: str | None = None


class Structured(nn.Module):
    """Nested arguments of many kinds; a dataclass with tensors, booleans and a size."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.head = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(
        self,
        features: dict[str, Any],
        pair: tuple[Tensor, float] | None = None,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> tuple[Tensor, Output, Tensor]:
        x = features["x"] + sum(features["more"])
        if pair is not None:
            x = x + pair[0] * pair[1]
        hidden = torch.relu(self.linear(x))
        logits = self.head(hidden)
        return logits, Output(logits, [hidden], x.shape[0]), (logits > 0).to(dtype) > 0


def structured(module: nn.Module) -> Any:
    x, y, z = torch.randn(3, 5, 4)
    return [
        step(module, {"x": x, "more": [y, z]}),
        step(module, {"x": x, "more": [y, z]}, pair=(z, 0.5)),
        step(module, features={"x": x, "more": (y,)}, pair=None, dtype=torch.float64),
        step(module, {"x": x[:3], "more": [y[:3], z[:3]]}),
    ]


class Results(nn.Module):
    """Results that have no gradient beside one that has."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.randn(4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.linear(x)
        return y, y.detach(), x, x + self.offset, y.argmax(1), y > 0, self.linear.weight


def which_require_gradients(module: nn.Module) -> Any:
    results = module(torch.randn(3, 4))
    return [[each, each.requires_grad, str(each.dtype)] for each in results]


class Heads(nn.Module):
    """Two results, each with layers of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.one, self.other = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 2)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.tanh(self.body(x))
        return self.one(hidden), self.other(hidden * y)


def one_result(module: nn.Module) -> Any:
    """A loss of one result: what leads to the other alone has no gradient, and does not decay."""
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2, weight_decay=0.5)
    found = []
    for used in (0, 1, 0):
        optimizer.zero_grad()
        y = torch.randn(5, 6, requires_grad=True)
        module(torch.randn(5, 4), y)[used].square().sum().backward()
        optimizer.step()
        found.append([gradients(module), y.grad])
    return [found, module.state_dict()]


class Silent(nn.Module):
    """A result that no gradient leads to, of the kind that is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, kind: str) -> Tensor:
        y: Tensor = self.linear(x)
        return y.argmax(1) if kind == "argmax" else y.detach()


def without_gradient(module: nn.Module) -> Any:
    x = torch.randn(3, 4)
    results = [module(x, kind) for kind in ("argmax", "detached")]
    return [[each, each.requires_grad, str(each.dtype)] for each in results]


class Constants(nn.Module):
    """Results that follow from no argument, parameter or buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.table = torch.arange(3.0)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        zeros = x.new_zeros(2)
        return self.linear(x), torch.tensor(5), self.table, self.table * 2, zeros, zeros


def constant_results(module: nn.Module) -> Any:
    """Each call gives the same, also after what the one before gave was changed in place."""
    found = []
    for rows in (3, 2):
        first, *others = module(torch.randn(rows, 4))
        first.sum().backward()
        found.append([first, *[other.clone() for other in others]])
        others[3].add_(1)
    return [found, gradients(module)]


@dataclasses.dataclass
class Scores(OrderedDict[str, Tensor]):
    """A result as transformers' models have: a dataclass that is a dict of its fields, too."""

    logits: Tensor

    def __post_init__(self) -> None:
        self["logits"] = self.logits


class Traced(nn.Module):
    """Cannot be followed by torch.export, but can be traced."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Scores:
        if torch.compiler.is_exporting():
            raise RuntimeError("no fake tensors here")
        return Scores(self.linear(x))


def traced_results(module: nn.Module) -> Any:
    module.zero_grad()
    result = module(torch.randn(5, 4))
    result.logits.square().mean().backward()
    return [type(result).__name__, dict(result), gradients(module)]
