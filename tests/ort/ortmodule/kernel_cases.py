"""Modules whose gradients PyTorch's kernels compute, with the operators that they must replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Case(NamedTuple):
    """A module, the input of one sample, and what is expected of its graph."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    replaced: Mapping[str, int]
    """Operator -> how many of its nodes PyTorch's kernels run."""
    kept: Mapping[str, int] = MappingProxyType({})
    """Operator -> how many stay with ONNX Runtime."""
    classes: int = 0
    """Above zero: the input is of whole numbers below this."""

    def input(self, batch: int) -> Tensor:
        torch.manual_seed(batch)
        if self.classes:
            return torch.randint(0, self.classes, (batch, *self.shape))
        return torch.randn(batch, *self.shape)


class Behind(nn.Module):
    """A layer behind a parameter, so that a gradient goes through the layer's input."""

    def __init__(self, layer: nn.Module | Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x * self.scale)
        return result


class Picked(nn.Module):
    """The last place along an axis, with a negative index, and repeated rows of a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(5, 6))
        self.register_buffer("places", torch.tensor([-1, 0, 2, -1]))

    def forward(self, x: Tensor) -> Tensor:
        scaled = x * self.rows.sum()
        places: Tensor = self.get_buffer("places")
        return scaled[:, -1] + self.rows[places].sum(0)


def frozen(layer: nn.Module, *names: str) -> nn.Module:
    """`layer` with these parameters frozen."""
    for name in names:
        layer.get_parameter(name).requires_grad_(False)
    return layer


CONVS = {"Conv": 1, "ConvGrad": 1}
POOLS = {"MaxPoolGrad": 1}
IMAGE = (8, 16, 16)

CASES: dict[str, Case] = {
    "conv1d": Case(lambda: Behind(nn.Conv1d(16, 32, 5, padding=2)), (16, 64), CONVS),
    "conv2d": Case(lambda: Behind(nn.Conv2d(8, 16, 3, padding=1)), IMAGE, CONVS),
    "conv3d": Case(lambda: Behind(nn.Conv3d(4, 8, 3, padding=1)), (4, 6, 8, 8), CONVS),
    "conv, no bias": Case(lambda: Behind(nn.Conv2d(8, 16, 3, bias=False)), IMAGE, CONVS),
    "conv, first layer": Case(lambda: nn.Conv2d(8, 16, 3), IMAGE, CONVS),
    "conv, three channels, first layer": Case(lambda: nn.Conv2d(3, 32, 3), (3, 20, 20), CONVS),
    "conv, three channels": Case(
        lambda: Behind(nn.Conv2d(3, 32, 3)), (3, 20, 20), {"Conv": 1}, {"ConvGrad": 1}
    ),
    "conv, frozen weight": Case(
        lambda: Behind(frozen(nn.Conv2d(8, 16, 3), "weight")), IMAGE, CONVS
    ),
    "conv, frozen": Case(
        lambda: Behind(frozen(nn.Conv2d(8, 16, 3), "weight", "bias")), IMAGE, CONVS
    ),
    "conv, groups": Case(lambda: Behind(nn.Conv2d(8, 16, 5, groups=2)), IMAGE, CONVS),
    "conv, depthwise": Case(lambda: Behind(nn.Conv2d(32, 32, 5, groups=32)), (32, 16, 16), CONVS),
    "conv, dilated": Case(lambda: Behind(nn.Conv2d(8, 16, 3, dilation=2)), IMAGE, CONVS),
    "conv, strided": Case(lambda: Behind(nn.Conv2d(8, 32, 3, stride=2, padding=1)), IMAGE, CONVS),
    "conv, strided unevenly": Case(
        lambda: Behind(nn.Conv2d(8, 32, (3, 5), stride=(2, 1), padding=(0, 2))), IMAGE, CONVS
    ),
    "conv, as many before as behind": Case(
        lambda: Behind(nn.Conv2d(8, 16, 3, padding="same")), IMAGE, CONVS
    ),
    "conv, more behind than before": Case(
        lambda: Behind(nn.Conv2d(8, 16, 4, padding="same")), IMAGE, {}, CONVS
    ),
    "conv, one by one": Case(lambda: Behind(nn.Conv2d(64, 64, 1)), (64, 8, 8), {}, CONVS),
    "conv, small": Case(lambda: Behind(nn.Conv2d(1, 4, 3)), (1, 8, 8), {}, CONVS),
    "conv, transposed": Case(lambda: Behind(nn.ConvTranspose2d(8, 16, 4, stride=2)), IMAGE, CONVS),
    "max pool": Case(lambda: Behind(nn.MaxPool2d(2)), IMAGE, POOLS),
    "max pool, one axis": Case(lambda: Behind(nn.MaxPool1d(3)), (4, 31), POOLS),
    "max pool, overlapping": Case(
        lambda: Behind(nn.MaxPool2d(3, stride=2, padding=1)), IMAGE, POOLS
    ),
    "max pool, odd size": Case(lambda: Behind(nn.MaxPool2d(2)), (4, 9, 7), POOLS),
    "max pool, ceiling": Case(
        lambda: Behind(nn.MaxPool2d(3, stride=2, ceil_mode=True)), (4, 10, 8), POOLS
    ),
    "max pool, dilated": Case(lambda: Behind(nn.MaxPool2d(2, dilation=2)), IMAGE, POOLS),
    "max pool, three axes": Case(lambda: Behind(nn.MaxPool3d(2)), (2, 4, 6, 8), {}, POOLS),
    "max pool, ties": Case(
        lambda: Behind(lambda x: nn.functional.max_pool2d(torch.relu(x), 2)),
        IMAGE,
        {"MaxPoolGrad": 1, "ReluGrad": 1},
    ),
    "relu": Case(lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (8,), {"ReluGrad": 1}),
    "gelu": Case(lambda: Behind(nn.GELU()), (64, 128), {"Gelu": 1, "GeluGrad": 1}),
    "gelu, by tanh": Case(lambda: Behind(nn.GELU("tanh")), (6, 7), {"FastGeluGrad": 1}),
    "gelu, small": Case(lambda: Behind(nn.GELU()), (8,), {}, {"Gelu": 1, "GeluGrad": 1}),
    "softmax": Case(lambda: Behind(nn.Softmax(-1)), (64, 128), {"SoftmaxGrad_13": 1}),
    "softmax, inner axis": Case(lambda: Behind(nn.Softmax(1)), (64, 128), {"SoftmaxGrad_13": 1}),
    "layer norm": Case(lambda: Behind(nn.LayerNorm(32)), (5, 32), {"LayerNormalizationGrad": 1}),
    "layer norm, two axes": Case(
        lambda: Behind(nn.LayerNorm((4, 8))), (3, 4, 8), {"LayerNormalizationGrad": 1}
    ),
    "layer norm, first layer": Case(
        lambda: nn.LayerNorm(32), (5, 32), {"LayerNormalizationGrad": 1}
    ),
    "layer norm, frozen": Case(
        lambda: Behind(frozen(nn.LayerNorm(32), "weight", "bias")),
        (5, 32),
        {"LayerNormalizationGrad": 1},
    ),
    "embedding": Case(lambda: nn.Embedding(7, 5), (6,), {"GatherGrad": 1}, classes=7),
    "negative indices": Case(Picked, (3, 6), {"GatherGrad": 1}),
}

GROUPS = ("conv", "max pool", "other")
"""Cases of one group run in one graph."""


def group_of(name: str) -> str:
    return next((group for group in GROUPS if name.startswith(group)), "other")
