"""Uses of a module's state: names, checkpoints, copies, attributes, frozen parameters."""

from __future__ import annotations

import copy
import io
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.ort.ortmodule.calls.usage import network, step


def checkpoints(module: nn.Module) -> Any:
    """State dicts back and forth with another module, by file and strictly."""
    x = torch.randn(5, 4)
    first = step(module, x)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    plain = network()
    plain.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    missing = module.load_state_dict({"0.bias": torch.zeros(8)}, strict=False)
    module.load_state_dict(plain.state_dict())
    return [first, step(module, x), sorted(missing.missing_keys), list(module.state_dict())]


def threads(module: nn.Module) -> Any:
    """Threads that share a module from its first call on, each with rows of its own."""
    rows = [torch.randn(3 + number, 4) for number in range(4)]
    together = threading.Barrier(len(rows))
    parameters = list(module.parameters())

    def gradients(x: Tensor) -> list[Tensor]:
        together.wait()
        found: list[Tensor] = []
        for _ in range(3):
            found += torch.autograd.grad(module(x).square().sum(), parameters)
        return found

    with ThreadPoolExecutor(len(rows)) as pool:
        return list(pool.map(gradients, rows))


def names(module: nn.Module) -> Any:
    return [
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_modules()],
        [name for name, _ in module.named_children()],
        [type(each).__name__ for each in list(module.modules())[1:]],
        [type(each).__name__ for each in module],  # type: ignore[attr-defined]
        len(module),  # type: ignore[arg-type]
        type(module[0]).__name__,  # type: ignore[index]
        module.get_submodule("2").out_features,
        bool(module),
    ]


class Scaled(nn.Module):
    """Has an attribute, a method and a property of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.limit = 3

    @property
    def width(self) -> int:
        return self.limit * 2

    def penalty(self) -> Tensor:
        return sum((p**2).sum() for p in self.parameters())  # type: ignore[return-value]

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x)
        return y


def attributes(module: nn.Module) -> Any:
    module(torch.randn(2, 4))
    module.limit = 5
    found = [module.width, module.penalty(), module.training]  # type: ignore[operator]
    module.register_buffer("extra", torch.ones(2))
    module.added = nn.Parameter(torch.ones(3))
    found += [sorted(module.state_dict()), step(module, torch.ones(2, 4))]
    del module.added
    module.eval()
    return [*found, module.training, module.linear.training, sorted(module.state_dict())]


class Rated(nn.Module):
    """Reads a number of its own and one of a layer, and writes two in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.slope = nn.Linear(4, 4), nn.LeakyReLU(0.1)
        self.factor, self.rows, self.calls = 2.0, 0, 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            self.rows = x.shape[0]
            self.calls += 1
        y: Tensor = self.slope(self.linear(x)) * self.factor
        return y


def changed_attributes(module: nn.Module) -> Any:
    found = [step(module, torch.randn(5, 4)), step(module, torch.randn(3, 4))]
    module.factor = 3.0
    found.append(step(module, torch.randn(5, 4)))
    module.slope.negative_slope = 0.5  # type: ignore[union-attr]
    found.append(step(module, torch.randn(5, 4)))
    for rows in (7, 2):
        module.eval()
        found.append(module(torch.randn(rows, 4)))
        module.train()
        found.append(step(module, torch.randn(rows, 4)))
    return [*found, module.calls]


def copies(module: nn.Module) -> Any:
    """A deep copy has memory of its own; both continue."""
    x = torch.randn(5, 4)
    before = step(module, x)
    twin = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2)
    assert type(twin) is type(module)
    return [before, step(module, x), step(twin, x)]


def pickles(module: nn.Module) -> Any:
    x = torch.randn(5, 4)
    before = step(module, x)
    module.eval()
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    twin = torch.load(file, weights_only=False)
    assert type(twin) is type(module)
    return [before, twin.training, step(twin.train(), x)]


def frozen_then_not(module: nn.Module) -> Any:
    x = torch.randn(5, 4)
    found = []
    for trained in (False, True, False):
        module[0].requires_grad_(trained)  # type: ignore[index]
        found.append(step(module, x))
    module.requires_grad_(False)
    found.append(module(x).requires_grad)
    module.requires_grad_(True)
    return [*found, step(module, x)]


class Shared(nn.Module):
    """One layer twice, and two names for one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.other = nn.Linear(4, 4)
        self.other.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.other(torch.tanh(self.again(torch.tanh(self.first(x)))))
        return y


def trained(module: nn.Module) -> Any:
    """Adam with momentum, accumulated gradients and clipping, over batches with a small last."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        for rows in (6, 6, 2):
            loss = functional.mse_loss(module(torch.randn(rows, 4)), torch.ones(rows, 4))
            loss.backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()
    return [losses, module.state_dict()]


def other_precision(module: nn.Module) -> Any:
    """Weights in half precision, and back."""
    x = torch.randn(5, 4)
    found = [step(module, x)]
    module.half()
    found.append(step(module, x.half()))
    module.float()
    return [*found, step(module, x), str(next(module.parameters()).dtype)]


def other_shape(module: nn.Module) -> Any:
    """Parameters of another shape in place of some, for the same calls."""
    found = [step(module, torch.randn(5, 4))]
    module[2].weight = nn.Parameter(torch.full((5, 8), 0.1))  # type: ignore[index]
    module[2].bias = nn.Parameter(torch.ones(5))  # type: ignore[index]
    return [*found, step(module, torch.randn(5, 4))]


class Normalized(nn.Module):
    """Batch normalization of every kind: with running statistics, without, and as a function."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.planes = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.first, self.rows = nn.Linear(3, 8), nn.BatchNorm1d(8)
        self.second, self.own = nn.Linear(3, 8), nn.BatchNorm1d(8, track_running_stats=False)
        # Both have a scale of ones, which is one constant in the graph.
        self.bare = nn.ModuleList(nn.BatchNorm1d(8, affine=False) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.planes(self.conv(x)).relu().mean((2, 3))
        row = x[:, :, 0, 0]
        called = nn.functional.batch_norm(self.second(row).tanh(), None, None, training=True)
        bare = self.bare[1](self.bare[0](self.first(row)).tanh())
        return result + self.rows(self.first(row)) + self.own(self.second(row)) + called + bare


def half_normalized(module: nn.Module) -> Any:
    module.half()
    found = [step(module, torch.randn(6, 3, 7, 7).half()) for _ in range(2)]
    return [*found, dict(module.named_buffers())]


def with_batch_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


def averaged_statistics(module: nn.Module) -> Any:
    """Statistics recomputed as a cumulative average, as stochastic weight averaging does."""
    norm = next(each for each in module.modules() if isinstance(each, nn.BatchNorm1d))
    found = [step(module, torch.randn(5, 4)) for _ in range(2)]
    norm.reset_running_stats()
    norm.momentum = None
    found += [[module(torch.randn(5, 4)).detach()] for _ in range(3)]
    found.append([buffer.clone() for buffer in module.buffers()])
    norm.momentum = 0.2
    found += [step(module, torch.randn(5, 4)) for _ in range(2)]
    return [*found, dict(module.named_buffers())]


class Curved(nn.Module):
    """A GELU, written out, of whose numbers one is trained and one is a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.factor = nn.Linear(4, 8), nn.Parameter(torch.tensor(0.5))
        self.register_buffer("cubic", torch.tensor(0.044715))

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(x)
        bent = torch.tanh(math.sqrt(2 / math.pi) * (x + self.get_buffer("cubic") * x**3))
        y: Tensor = self.factor * x * (1 + bent)
        return y


def changed_numbers(module: nn.Module) -> Any:
    first = step(module, torch.randn(5, 4))
    module.get_buffer("cubic").fill_(0.2)
    return [first, step(module, torch.randn(5, 4))]
