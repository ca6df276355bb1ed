"""Layers from which random models are composed; each says what shapes it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

Shape = tuple[int, ...]
"""Of one row: (features), (length, features) or (channels, height, width)."""


class Block(NamedTuple):
    """One kind of layer."""

    takes: Callable[[Shape], bool]
    make: Callable[[Shape], nn.Module]


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class First(nn.Module):
    """The first result of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class SelfAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layer(x, x, x, need_weights=False)[0]


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.tanh(self.layer(x))


def anything(_: Shape) -> bool:
    return True


def sequence(shape: Shape) -> bool:
    return len(shape) == 2


def image(shape: Shape) -> bool:
    return len(shape) == 3


def wide(least: int) -> Callable[[Shape], bool]:
    """An image of at least so many pixels a side."""
    return lambda shape: image(shape) and min(shape[1:]) >= least


def even(shape: Shape) -> bool:
    return shape[-1] % 2 == 0


def module(kind: Callable[[], nn.Module]) -> Block:
    return Block(anything, lambda _: kind())


def function(work: Callable[[Tensor], Tensor]) -> Block:
    return Block(anything, lambda _: Function(work))


BLOCKS: dict[str, Block] = {
    "ReLU": module(nn.ReLU),
    "ELU": module(nn.ELU),
    "GELU(tanh)": module(lambda: nn.GELU("tanh")),
    "SiLU": module(nn.SiLU),
    "Mish": module(nn.Mish),
    "Hardswish": module(nn.Hardswish),
    "Softplus": module(nn.Softplus),
    "PReLU": module(nn.PReLU),
    "Softmax": module(lambda: nn.Softmax(dim=-1)),
    "atan": function(torch.atan),
    "cumsum": function(lambda x: torch.cumsum(x, -1)),
    "flip": function(lambda x: torch.flip(x, (-1,))),
    "roll": function(lambda x: torch.roll(x, 1, dims=-1)),
    "less its maximum": function(lambda x: x - x.amax(-1, keepdim=True)),
    "half of a split": Block(even, lambda _: Function(lambda x: x.chunk(2, dim=-1)[1])),
    "product of halves": Block(even, lambda _: Function(functional.glu)),
    "joined with its sine": function(lambda x: torch.cat([x, x.sin()], dim=1)),
    "Linear": Block(anything, lambda shape: nn.Linear(shape[-1], 6)),
    "Residual": Block(anything, lambda shape: Residual(shape[-1])),
    "LayerNorm": Block(anything, lambda shape: nn.LayerNorm(shape[-1])),
    "RMSNorm": Block(anything, lambda shape: nn.RMSNorm(shape[-1])),
    "Flatten": module(nn.Flatten),
    "Conv1d": Block(sequence, lambda shape: nn.Conv1d(shape[0], 4, 3, padding=1)),
    "transpose": Block(sequence, lambda _: Function(lambda x: x.transpose(1, 2))),
    "LSTM": Block(sequence, lambda shape: First(nn.LSTM(shape[1], 4, batch_first=True))),
    "GRU": Block(
        sequence,
        lambda shape: First(nn.GRU(shape[1], 3, batch_first=True, bidirectional=True)),
    ),
    "MultiheadAttention": Block(
        lambda shape: sequence(shape) and even(shape), lambda shape: SelfAttention(shape[1])
    ),
    "mean over the sequence": Block(sequence, lambda _: Function(lambda x: x.mean(1))),
    "Conv2d": Block(image, lambda shape: nn.Conv2d(shape[0], 4, 3, padding=1)),
    "depthwise": Block(
        image, lambda shape: nn.Conv2d(shape[0], shape[0], 3, padding=1, groups=shape[0])
    ),
    "ConvTranspose2d": Block(image, lambda shape: nn.ConvTranspose2d(shape[0], 3, 2, stride=2)),
    "BatchNorm2d": Block(image, lambda shape: nn.BatchNorm2d(shape[0])),
    "GroupNorm": Block(image, lambda shape: nn.GroupNorm(1, shape[0])),
    "MaxPool2d": Block(wide(2), lambda _: nn.MaxPool2d(2)),
    "AvgPool2d": Block(wide(2), lambda _: nn.AvgPool2d(2)),
    "AdaptiveAvgPool2d": Block(wide(3), lambda _: nn.AdaptiveAvgPool2d((2, 3))),
    "bilinear": Block(image, lambda _: nn.UpsamplingBilinear2d(scale_factor=2)),
    "PixelShuffle": Block(
        lambda shape: image(shape) and shape[0] % 4 == 0, lambda _: nn.PixelShuffle(2)
    ),
    "ReflectionPad2d": Block(wide(2), lambda _: nn.ReflectionPad2d(1)),
}
