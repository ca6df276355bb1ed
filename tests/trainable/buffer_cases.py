"""Modules that write into their buffers, trained by ONNX Runtime and PyTorch; run as a script."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, spectral_norm

from tests.forked import outcome
from tests.parity import train_both, warm_up
from tests.representative import representative
from tests.trainable.rewrites.rewrite_cases import batches
from workbench import ORTModule
from workbench.ort.native import native

STEPS = 50


class MovingAverage(nn.Module):
    """Takes off a moving average of its results, and keeps the last of them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("average", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        average = self.get_buffer("average")
        if self.training:
            with torch.no_grad():
                average.mul_(0.9).add_(0.1 * y.mean(0))
                self.get_buffer("last").copy_(y[0])
        return y - average


class Limited(nn.Module):
    """Takes a copy of a limit and a factor, which its backward pass reads, and then raises both."""

    limit: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(6, 6), nn.Linear(6, 3)
        self.register_buffer("limit", torch.tensor(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limit = self.limit.clone()
        y = torch.minimum(torch.relu(self.layer(x)), limit) * limit
        if self.training:
            self.limit.mul_(1.01)
        result: torch.Tensor = self.head(y)
        return result


def convolution(norm: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))


def tracked(**settings: float) -> nn.Module:
    return nn.InstanceNorm2d(4, affine=True, track_running_stats=True, **settings)


def hooked() -> nn.Module:
    return nn.Sequential(spectral_norm(nn.Linear(6, 8)), nn.Tanh(), nn.Linear(8, 3))


def parametrized() -> nn.Module:
    layer = parametrizations.spectral_norm(nn.Linear(6, 8), n_power_iterations=2)
    return nn.Sequential(layer, nn.Tanh(), nn.Linear(8, 3))


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "moving average": (MovingAverage, (6,)),
    "raised limit": (Limited, (6,)),
    "InstanceNorm2d with statistics": (lambda: convolution(tracked()), (1, 6, 6)),
    "InstanceNorm2d, momentum": (lambda: convolution(tracked(momentum=0.3)), (1, 6, 6)),
    "InstanceNorm2d in evaluation mode": (lambda: convolution(tracked().eval()), (1, 6, 6)),
    "spectral norm": (parametrized, (6,)),
    "spectral norm, hooked": (hooked, (6,)),
}

CHOSEN = representative(MODULES, every=4, always=["raised limit"])


def on_device(name: str) -> dict[str, float]:
    build, shape = MODULES[name]
    worst = train_both(build, batches(shape, STEPS), optimizer_settings={"lr": 0.01})
    # These modules compute something else in evaluation mode, for which artifacts have a graph.
    del worst["eval"]
    return worst


def by_ortmodule(name: str) -> dict[str, float]:
    build, shape = MODULES[name]
    torch.manual_seed(0)
    plain = build()
    torch.manual_seed(0)
    wrapped = ORTModule(build())
    wrapped.load_state_dict(copy.deepcopy(plain.state_dict()))
    worst = {"gradient": 0.0, "buffers": 0.0, "eval": 0.0}
    steppers = [torch.optim.SGD(each.parameters(), lr=0.01) for each in (plain, wrapped)]
    for x, target in batches(shape, STEPS):
        for module, stepper in zip((plain, wrapped), steppers, strict=True):
            stepper.zero_grad()
            loss = functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(target))
            loss.backward()
        for one, other in zip(plain.parameters(), wrapped.parameters(), strict=True):
            assert one.grad is not None
            assert other.grad is not None
            worst["gradient"] = max(worst["gradient"], float((one.grad - other.grad).abs().max()))
        for stepper in steppers:
            stepper.step()
    for one, other in zip(plain.buffers(), wrapped.buffers(), strict=True):
        worst["buffers"] = max(worst["buffers"], float((one - other).abs().max()))
    x = torch.from_numpy(batches(shape, 1)[0][0])
    with torch.no_grad():
        worst["eval"] = float((plain.eval()(x) - wrapped.eval()(x)).abs().max())
    return worst


ENGINES = {"ondevice": on_device, "ortmodule": by_ortmodule}

if __name__ == "__main__":
    native()
    warm_up()
    print(
        json.dumps(
            {
                f"{name}, {engine}": outcome(partial(run, name))
                for name in CHOSEN
                for engine, run in ENGINES.items()
            }
        )
    )
