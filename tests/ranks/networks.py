"""Small modules: what two ranks can train, and what they cannot."""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

CLASSES = 5


class Network(nn.Module):
    """With a layer that the loss does not depend on, and one that draws if `dropout` says so."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(12, 32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, CLASSES)
        )
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return found


def wide() -> nn.Module:
    """Whose gradients fill more than one bucket of DistributedDataParallel (25 MB)."""
    return nn.Sequential(
        nn.Linear(12, 2200), nn.GELU(), nn.Linear(2200, 3200), nn.Linear(3200, CLASSES)
    )


def large() -> nn.Module:
    """Whose checkpoint takes a while: 75 MB, and twice that for AdamW."""
    return nn.Sequential(nn.Linear(12, 2000), nn.ReLU(), nn.Linear(2000, 9000), nn.Linear(9000, 5))


def sum_of_rows(output: Tensor, target: Tensor) -> Tensor:
    return nn.functional.cross_entropy(output, target, reduction="sum")


class Centred(nn.Module):
    """Whose buffer depends on the rows of a batch, without being a layer that is known for it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, CLASSES)
        self.register_buffer("mean", torch.zeros(12))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.mean = x.mean(0)
        found: Tensor = self.linear(x)
        return found


class CentredLater(nn.Module):
    """Whose buffer depends on the rows of a batch from the third call on, so not at first."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, CLASSES)
        self.register_buffer("mean", torch.zeros(12))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += self.training
        if self.calls >= 3:
            self.mean = x.mean(0)
        found: Tensor = self.linear(x)
        return found


class Shifted(nn.Module):
    """Whose rows depend on each other, without a buffer or a layer that is known for it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear(x - x.mean(0))
        return found


class Tables(nn.Module):
    """With buffers of types that gloo does not send, and others."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, CLASSES)
        self.register_buffer("order", torch.arange(12, dtype=torch.int16))
        self.register_buffer("phases", torch.ones(12, dtype=torch.complex64), persistent=False)
        self.register_buffer("none", torch.zeros(0))
        self.register_buffer("step", torch.zeros((), dtype=torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear(x[:, self.order.long()] * self.phases.real)
        return found


class FailsOnRank1(nn.Module):
    """As with a row whose index is out of range: one rank alone has it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, CLASSES)
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += self.training
        if self.steps >= 3 and os.environ.get("RANK") == "1":
            raise IndexError("index 7 is out of range")
        found: Tensor = self.linear(x)
        return found


def normalized() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 8), nn.BatchNorm1d(8), nn.Linear(8, CLASSES))
