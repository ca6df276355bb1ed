"""Times steps of layers, eager and in ORTModule.

Run as `python -m benchmarks.ortmodule.layer_steps ROUNDS`.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench import ORTModule
from workbench.machine.threads import default_threads

BURST_S = 0.1
IMAGE = (16, 16, 32, 32)
SEQUENCE = (16, 64, 128)


class Scaled(nn.Module):
    """A function of an input that a parameter has scaled."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x * self.scale)


class First(nn.Module):
    """The first result of a recurrent layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layer(x)[0]
        return result


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "ELU": (lambda: Scaled(nn.ELU()), SEQUENCE),
    "SELU": (lambda: Scaled(nn.SELU()), SEQUENCE),
    "Softplus": (lambda: Scaled(nn.Softplus()), SEQUENCE),
    "Mish": (lambda: Scaled(nn.Mish()), SEQUENCE),
    "Hardswish": (lambda: Scaled(nn.Hardswish()), SEQUENCE),
    "PReLU": (lambda: Scaled(nn.PReLU()), SEQUENCE),
    "GELU, tanh": (lambda: Scaled(nn.GELU("tanh")), SEQUENCE),
    "atan": (lambda: Scaled(torch.atan), SEQUENCE),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(16, 8, 2, stride=2), IMAGE),
    "AvgPool2d": (lambda: Scaled(nn.AvgPool2d(2)), IMAGE),
    "bilinear up-sampling": (
        lambda: Scaled(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear")),
        IMAGE,
    ),
    "PixelShuffle": (lambda: Scaled(nn.PixelShuffle(2)), IMAGE),
    "reflection padding": (lambda: Scaled(nn.ReflectionPad2d(1)), IMAGE),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(16), IMAGE),
    "GroupNorm": (lambda: nn.GroupNorm(4, 16), IMAGE),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(16, affine=True), IMAGE),
    "LayerNorm": (lambda: nn.LayerNorm(128), SEQUENCE),
    "RMSNorm": (lambda: nn.RMSNorm(128), SEQUENCE),
    "RNN": (lambda: First(nn.RNN(128, 64, batch_first=True)), SEQUENCE),
    "LSTM": (lambda: First(nn.LSTM(128, 64, batch_first=True)), SEQUENCE),
    "cumsum": (lambda: Scaled(lambda x: x.cumsum(1)), SEQUENCE),
    "amax": (lambda: Scaled(lambda x: x.amax(1)), SEQUENCE),
    "einsum": (lambda: Scaled(lambda x: torch.einsum("bij,bkj->bik", x, x)), SEQUENCE),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True),
        SEQUENCE,
    ),
}


def main() -> None:
    torch.set_num_threads(default_threads())
    measured = {}
    for name, (build, shape) in LAYERS.items():
        torch.manual_seed(0)
        measured[name] = in_turn(build(), torch.randn(shape), int(sys.argv[1]))
    print(json.dumps(measured))


def in_turn(module: nn.Module, x: Tensor, rounds: int) -> dict[str, list[float]]:
    """Seconds a step in each round, by who took it."""
    wrapped = {"eager": module, "ortmodule": ORTModule(copy.deepcopy(module))}
    steps = {}
    for name, one in wrapped.items():
        seconds(one, x, 3)
        steps[name] = max(1, round(BURST_S / seconds(one, x, 3)))
    measured: dict[str, list[float]] = {name: [] for name in wrapped}
    for number in range(rounds):
        for name in list(wrapped)[:: 1 if number % 2 else -1]:
            measured[name].append(seconds(wrapped[name], x, steps[name]))
    return measured


def seconds(module: nn.Module, x: Tensor, steps: int) -> float:
    """How long a forward and a backward pass take."""
    started = time.perf_counter()
    for _ in range(steps):
        module(x).square().mean().backward()
        for parameter in module.parameters():
            parameter.grad = None
    return (time.perf_counter() - started) / steps


if __name__ == "__main__":
    main()
