"""Uses of a module with tensors of other sizes from call to call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.calls.usage import step
from workbench.export import torchscript_exporter
from workbench.ort.ortmodule.capture import export


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.linear = nn.Embedding(11, 4), nn.Linear(4, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.tokens(tokens)
        y: Tensor = self.linear(torch.softmax(hidden @ hidden.transpose(1, 2), -1) @ hidden)
        return y.squeeze(1)


class Tokens(nn.Module):
    """Attention over tokens with a mask; their positions have no batch."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.output = nn.Linear(8, 11)

    def forward(self, tokens: Tensor, padding: Tensor | None = None) -> Tensor:
        places = torch.arange(tokens.shape[1])
        hidden = self.tokens(tokens) + self.positions(places)
        attended, _ = self.attention(hidden, hidden, hidden, padding, need_weights=False)
        y: Tensor = self.output(attended)
        return y


def lengths(module: nn.Module) -> Any:
    sizes = [(4, 8), (3, 8), (4, 6), (2, 5), (7, 7), (1, 9), (5, 8)]
    return [step(module, torch.randint(0, 11, size)) for size in sizes]


def masked_lengths(module: nn.Module) -> Any:
    found = []
    for size in [(8, 8), (3, 5), (4, 6), (5, 3)]:
        padding = torch.zeros(size, dtype=torch.bool)
        padding[:, 2:] = True
        found.append(step(module, torch.randint(0, 11, size), padding=padding))
    return found


class Positions(nn.Module):
    """Adds what has no batch, times a number that is a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, positions: Tensor, scale: Tensor) -> Tensor:
        return torch.tanh(self.linear(x) + positions) * scale


def without_batch(module: nn.Module) -> Any:
    calls = [((6, 5, 4), (1, 5, 4)), ((3, 5, 4), (1, 5, 4)), ((3, 7, 4), (7, 4))]
    return [step(module, torch.randn(x), torch.randn(y), torch.randn(())) for x, y in calls]


class FixedBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y.reshape(4, 3, 2) if x.shape[0] == 4 else y


def fixed_batch(module: nn.Module) -> Any:
    return [step(module, torch.randn(size, 4)) for size in (4, 5, 4)]


class FixedLength(nn.Module):
    """Takes any batch, but knows two lengths only."""

    def __init__(self) -> None:
        super().__init__()
        self.short, self.long = nn.Linear(4, 3), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.short(x) if x.shape[1] == 4 else self.long(x)
        return y


def fixed_length(module: nn.Module) -> Any:
    return [step(module, torch.randn(*size)) for size in ((5, 4), (3, 6), (2, 4), (4, 6))]


class Broadcast(nn.Module):
    """What is broadcast is of a size that a traced graph does not know."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        one = self.second(y[:, :1])
        chosen = torch.where(y > 0, y, one) + torch.where(y > 0, one.exp(), y)
        powers = torch.pow(y.abs() + 1, one.abs() + 1)
        result: Tensor = chosen * powers + torch.fmod(y, one.abs() + 1)
        return result


def traced_broadcast(module: nn.Module) -> Any:
    """In one graph, by TorchScript's exporter."""
    kept = export.EXPORTERS
    export.EXPORTERS = {torchscript_exporter.NAME: kept[torchscript_exporter.NAME]}
    try:
        return [step(module, torch.randn(*size, 4)) for size in ((3, 5), (2, 7), (4, 3))]
    finally:
        export.EXPORTERS = kept


def one_element(module: nn.Module) -> Any:
    sizes = [(4, 8), (4, 1), (4, 6), (1, 8)]
    return [step(module, torch.randint(0, 11, size)) for size in sizes]


def no_rows(module: nn.Module) -> Any:
    return [step(module, torch.randn(rows, 4)) for rows in (4, 0, 2)]
