"""Modules, each with what goes in, that train under ORTModule as they do under PyTorch.

Each is built from the seed that the caller has set. A case is a module and a function from a batch
size to the arguments of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from tests.representative import representative
from workbench.load import load_model


class Call(NamedTuple):
    """Arguments of one call."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = MappingProxyType({})


class Case(NamedTuple):
    """A module and how it is called."""

    build: Callable[[], nn.Module]
    call: Callable[[int], Call]
    tolerance: float = 1e-5
    """Largest difference of a gradient, relative to the largest of the parameter's gradient."""


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 6), nn.Linear(3, 6)

    def forward(self, left: Tensor, right: Tensor, scale: float = 1.0) -> Tensor:
        return torch.tanh(self.left(left) + scale * self.right(right))


class Several(nn.Module):
    """Several results in the container that `kind` asks for, one of them of integers."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Any:
        hidden = torch.relu(self.body(x))
        logits = self.head(hidden)
        match self.kind:
            case "tuple":
                return logits, hidden
            case "list":
                return [logits, [hidden, logits]]
            case "dict":
                return {"logits": logits, "rest": {"hidden": hidden, "none": None}}
            case _:
                return logits, x, logits.argmax(dim=1)


class ThreeResults(nn.Module):
    """A policy, its value, and the value for a loss that does not train the body."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.tanh(self.body(x))
        return self.policy(hidden), self.value(hidden.detach()), self.value(hidden)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, pair: tuple[Tensor, dict[str, Tensor]], mask: Tensor | None = None) -> Tensor:
        x = pair[0] + pair[1]["y"]
        return self.linear(x if mask is None else x.masked_fill(mask, 0.5))


class Unused(nn.Module):
    """One argument and one parameter have no part in the result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.idle = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Tensor, ignored: Tensor) -> Tensor:
        return self.linear(x)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 6)
        self.output = nn.Linear(6, 11, bias=False)
        self.output.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.output(self.tokens(tokens))


class Buffered(nn.Module):
    """Buffers of both kinds, and one BatchNorm that runs twice."""

    shift: Tensor
    factor: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.register_buffer("shift", torch.randn(4))
        self.register_buffer("factor", torch.randn(4), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        once = self.norm(self.linear(x) + self.shift)
        return self.norm(torch.sigmoid(once) * self.factor)


def sample(name: str, size: int = 0) -> Case:
    """A sample of the workbench on noise, or on `size` different integers."""
    model = load_model(name)

    def call(batch: int) -> Call:
        shape = [batch, *model.inputs[0].shape[1:]]
        return Call((torch.randint(0, size, shape) if size else torch.rand(shape),))

    return Case(model.module, call)


def of_floats(build: Callable[[], nn.Module], *shape: int) -> Case:
    return Case(build, lambda batch: Call((torch.randn(batch, *shape),)))


def two_inputs(batch: int) -> Call:
    return Call((torch.randn(batch, 4),), {"right": torch.randn(batch, 3), "scale": 0.5})


def nested(batch: int) -> Call:
    x, y = torch.randn(2, batch, 4)
    return Call(((x, {"y": y}),), {"mask": torch.rand(batch, 4) > 0.5})


CASES: dict[str, Case] = {
    "digits-mlp": sample("digits-mlp"),
    "digits-cnn": sample("digits-cnn"),
    "breast-cancer-mlp": sample("breast-cancer-mlp"),
    "digits-autoencoder": sample("digits-autoencoder"),
    "text-gpt": sample("text-gpt", 96),
    "keywords": Case(TwoInputs, two_inputs),
    "tuple": of_floats(lambda: Several("tuple"), 4),
    "list": of_floats(lambda: Several("list"), 4),
    "dict": of_floats(lambda: Several("dict"), 4),
    "three-results": of_floats(ThreeResults, 4),
    "integer-result": of_floats(lambda: Several("integers"), 4),
    "nested": Case(Nested, nested),
    "unused": Case(Unused, lambda batch: Call((torch.randn(batch, 4), torch.randn(batch, 1)))),
    "tied": Case(Tied, lambda batch: Call((torch.randint(0, 11, (batch, 5)),))),
    "buffers": of_floats(Buffered, 4),
}
USUAL = representative(CASES, every=6, always=("dict", "nested", "buffers", "three-results"))
