"""Modules whose graphs need a rewrite, trained by ONNX Runtime and PyTorch; run as a script."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tests.forked import outcome
from tests.parity import Arrays, train_both, warm_up
from tests.representative import representative
from workbench.ort.native import native

ROWS = 8
STEPS = 10


class Unused(nn.Module):
    """Uses the middle one of three parts."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 9)
        self.head = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, middle, _ = self.layer(x).chunk(3, dim=-1)
        return self.head(middle)


class Twice(nn.Module):
    """Normalizes twice with the same layer, which then updates its statistics twice a step."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6, bias=False)
        self.norm = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(torch.tanh(self.norm(self.layer(x)))))


class Joined(nn.Module):
    """The third part that is joined is a layer's, whose argument another layer reads too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.part, self.head = nn.Linear(6, 8), nn.Linear(8, 4), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.layer(x))
        joined = torch.cat([x, 2 * x, self.part(hidden)], dim=1)
        return self.head(hidden) * joined.mean(dim=1, keepdim=True)


class Recurrent(nn.Module):
    def __init__(self, kind: Callable[..., nn.RNNBase]) -> None:
        super().__init__()
        self.layer = kind(6, 5, batch_first=True)
        self.head = nn.Linear(10 if self.layer.bidirectional else 5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0][:, -1])


class Attention(nn.Module):
    """Causal attention as language models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.qkv = nn.Linear(6, 18)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part.view(batch, length, 2, 3).transpose(1, 2)
            for part in self.qkv(self.norm(x)).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.head(mixed.transpose(1, 2).reshape(batch, length, 6).mean(dim=1))


class WrittenGelu(nn.Module):
    """The tanh form of GELU operator by operator, as in transformers, or with its parts turned."""

    def __init__(self, *, turned: bool) -> None:
        super().__init__()
        self.turned = turned

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.turned:
            raised = torch.tanh((0.044715 * x.pow(3.0) + x) * math.sqrt(2.0 / math.pi)) + 1.0
            return raised * (x * 0.5)
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class Atan(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.atan(x)


def dense(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8, bias=False), *layers, nn.Linear(8, 3))


def convolution(norm: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), norm, nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
    )


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "LayerNorm": (lambda: dense(nn.LayerNorm(8)), (6,)),
    "LayerNorm without bias": (lambda: dense(nn.LayerNorm(8, bias=False)), (6,)),
    "LayerNorm without weight": (lambda: dense(nn.LayerNorm(8, elementwise_affine=False)), (6,)),
    "LayerNorm without weight, twice": (
        lambda: dense(*[nn.LayerNorm(8, elementwise_affine=False) for _ in range(2)]),
        (6,),
    ),
    "GELU": (lambda: dense(nn.GELU()), (6,)),
    "GELU, tanh": (lambda: dense(nn.GELU("tanh")), (6,)),
    "GELU, tanh, written out": (lambda: dense(WrittenGelu(turned=False)), (6,)),
    "GELU, tanh, turned": (lambda: dense(WrittenGelu(turned=True)), (6,)),
    "atan": (lambda: dense(Atan()), (6,)),
    "unused part": (Unused, (6,)),
    "joined parts": (Joined, (6,)),
    "BatchNorm1d": (lambda: dense(nn.BatchNorm1d(8)), (6,)),
    "BatchNorm1d, sequence": (
        lambda: nn.Sequential(nn.BatchNorm1d(5), nn.Flatten(), nn.Linear(30, 3)),
        (5, 6),
    ),
    "BatchNorm2d": (lambda: convolution(nn.BatchNorm2d(4)), (1, 6, 6)),
    "BatchNorm2d, momentum": (lambda: convolution(nn.BatchNorm2d(4, momentum=0.3)), (1, 6, 6)),
    "BatchNorm without weight": (lambda: dense(nn.BatchNorm1d(8, affine=False)), (6,)),
    "BatchNorm without weight, twice": (
        lambda: dense(*[nn.BatchNorm1d(8, affine=False) for _ in range(2)]),
        (6,),
    ),
    "BatchNorm without statistics": (
        lambda: dense(nn.BatchNorm1d(8, track_running_stats=False)),
        (6,),
    ),
    "BatchNorm twice": (Twice, (6,)),
    "BatchNorm in evaluation mode": (lambda: dense(nn.BatchNorm1d(8).eval()), (6,)),
    "BatchNorm2d in evaluation mode": (
        lambda: nn.Sequential(convolution(nn.BatchNorm2d(4).eval()), nn.BatchNorm1d(3)),
        (1, 6, 6),
    ),
    "GroupNorm": (lambda: convolution(nn.GroupNorm(2, 4)), (1, 6, 6)),
    "InstanceNorm2d": (lambda: convolution(nn.InstanceNorm2d(4, affine=True)), (1, 6, 6)),
    "InstanceNorm2d, twice": (
        lambda: nn.Sequential(nn.InstanceNorm2d(1), convolution(nn.InstanceNorm2d(4))),
        (1, 6, 6),
    ),
    "BatchNorm, frozen": (lambda: dense(nn.BatchNorm1d(8)), (6,)),
    "GRU": (partial(Recurrent, nn.GRU), (4, 6)),
    "LSTM": (partial(Recurrent, nn.LSTM), (4, 6)),
    "RNN": (partial(Recurrent, nn.RNN), (4, 6)),
    "GRU, bidirectional": (partial(Recurrent, partial(nn.GRU, bidirectional=True)), (4, 6)),
    "LSTM, bidirectional": (
        partial(Recurrent, partial(nn.LSTM, num_layers=2, bidirectional=True)),
        (4, 6),
    ),
    "RNN, bidirectional": (partial(Recurrent, partial(nn.RNN, bidirectional=True)), (4, 6)),
    "attention": (Attention, (4, 6)),
}  # fmt: skip

CHOSEN = representative(MODULES, every=8, always=["GELU, tanh, written out", "joined parts"])


def batches(shape: tuple[int, ...], steps: int) -> list[Arrays]:
    generator = np.random.default_rng(1)
    return [
        (
            generator.normal(1.0, 2.0, (ROWS, *shape)).astype(np.float32),
            generator.integers(0, 3, ROWS),
        )
        for _ in range(steps)
    ]


def train(name: str) -> dict[str, float]:
    build, shape = MODULES[name]
    # Running statistics converge, so a wrong update shows in few steps or never.
    steps = 50 if name.startswith("BatchNorm") else STEPS
    frozen = "0." if name.endswith("frozen") else "nothing"
    return train_both(
        build,
        batches(shape, steps),
        optimizer_settings={"lr": 0.01},
        trained=lambda parameter: not parameter.startswith(frozen),
    )


if __name__ == "__main__":
    native()
    warm_up()
    print(json.dumps({name: outcome(partial(train, name)) for name in CHOSEN}))
