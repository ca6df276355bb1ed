"""Cases that an ORTModule refuses, each with the words that its error must contain.

A case is given an ORTModule and does what must be refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tests.ort.ortmodule.autograd_functions.autograd_function_cases import rounded
from tests.ort.ortmodule.calls.usage_offloading import (
    changed_offloaded_result,
    moved_parameter,
    released_parameter,
)
from tests.ort.ortmodule.calls.usage_process_group import (
    in_a_process_group,
    joins_a_process_group,
    synchronized,
)


class Refusal(NamedTuple):
    """A module, what is done with it, and what the error says."""

    build: Callable[[], nn.Module]
    act: Callable[[nn.Module], Any]
    words: tuple[str, ...]


def traced_layer() -> nn.Module:
    """As files hold them that torch.jit, which is deprecated, has made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        layer: nn.Module = torch.jit.trace(nn.ReLU(), torch.ones(2))  # type: ignore[no-untyped-call]
    return layer


class Point:
    def __init__(self, x: object) -> None:
        self.x = x


class Decides(nn.Module):
    """Has Dropout, batch normalization and a hook, so that there is something to disturb."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.linear, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.drop.eval()
        self.register_forward_hook(lambda *_: None)

    def forward(self, x: Tensor) -> Tensor:  # noqa: PLR0911 -- one for each case
        y: Tensor = self.drop(self.norm(self.linear(x)))
        match self.how:
            case "value":
                return y if y.sum().item() > 0 else -y
            case "loop":
                return sum((y * i for i in range(int(y.abs().max()))), y)
            case "numpy":
                return y + torch.from_numpy(np.tanh(y.detach().numpy()))
            case "eigenvalues":
                return torch.linalg.eigvalsh(y.T @ y)
            case "fourier":
                return torch.fft.rfft(y).abs()
            case "count":
                return y * len(torch.unique(y))
            case "raises":
                raise ValueError("the module's own words")
            case "object":
                return Point(y)  # type: ignore[return-value]
            case "objects":
                return y, {"points": [Point({"x": y})]}  # type: ignore[return-value]
            case _:
                return {y}  # type: ignore[return-value]


def deciding(how: str) -> Callable[[], nn.Module]:
    return lambda: Decides(how)


def called(module: nn.Module) -> None:
    module(torch.randn(3, 4))


class Straight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(rounded(self.linear(x)))


def in_bfloat16(module: nn.Module) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        called(module)


def backward_twice(module: nn.Module) -> None:
    loss = module(torch.randn(3, 4)).sum()
    loss.backward(retain_graph=True)
    loss.backward()


def second_derivative(module: nn.Module) -> None:
    loss = module(torch.randn(3, 4)).sum()
    torch.autograd.grad(loss, list(module.parameters()), create_graph=True)


def changed_result(module: nn.Module) -> None:
    """The backward pass of tanh reads what it gave."""
    result = module(torch.randn(3, 4))
    result.add_(1)
    result.sum().backward()


def changed_parameter(module: nn.Module) -> None:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    first, second = module(torch.randn(3, 4)).sum(), module(torch.randn(3, 4)).sum()
    first.backward()
    optimizer.step()
    second.backward()


def changed_frozen_parameter(module: nn.Module) -> None:
    """As a teacher that follows its student does."""
    module[2].requires_grad_(False)  # type: ignore[operator, index]
    loss = module(torch.randn(3, 4)).sum()
    with torch.no_grad():
        module[2].weight.mul_(2)  # type: ignore[operator, index]
    loss.backward()


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mask", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x) * self.mask
        return y


def changed_buffer(module: nn.Module) -> None:
    loss = module(torch.randn(3, 4)).sum()
    module.mask[0] = 0  # type: ignore[operator, index]
    loss.backward()


def changed_argument(module: nn.Module) -> None:
    x = torch.randn(3, 4)
    loss = module(x).sum()
    x.zero_()
    loss.backward()


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())


class Clamped(nn.Module):
    """Limits its weight where autograd counts no change."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.linear.weight.data.clamp_(-0.1, 0.1)
        return self.linear(x)  # type: ignore[no-any-return]


def on_meta() -> nn.Module:
    module = two_layers()
    module[2] = nn.Linear(4, 4, device="meta")  # type: ignore[index]
    return module


def precise() -> nn.Module:
    return two_layers().double()


CASES: dict[str, Refusal] = {
    "value": Refusal(
        deciding("value"),
        called,
        ("UntrainableError", "refusal_cases.py:", "y.sum().item() > 0", "branches on the values"),
    ),
    "loop": Refusal(
        deciding("loop"), called, ("UntrainableError", "refusal_cases.py:", "range(int(")
    ),
    "numpy": Refusal(deciding("numpy"), called, ("UntrainableError", "refusal_cases.py:", "numpy")),
    "count": Refusal(deciding("count"), called, ("UntrainableError", "keep it a tensor")),
    "not-exported": Refusal(
        deciding("eigenvalues"),
        called,
        ("UntrainableError", "_linalg_eigh", "refusal_cases.py:", "torch.linalg.eigvalsh"),
    ),
    "not-differentiated": Refusal(
        deciding("fourier"),
        called,
        ("UntrainableError", "DFT", "refusal_cases.py:", "Replace the layer"),
    ),
    "raises": Refusal(
        deciding("raises"),
        called,
        ("ValueError", "the module's own words"),
    ),
    "result": Refusal(deciding("set"), called, ("UntrainableError", "builtins.set", "Wrap")),
    "object": Refusal(
        deciding("object"),
        called,
        ("UntrainableError", "refusal_cases.Point", "which the module returns:", "dataclass"),
    ),
    "objects": Refusal(
        deciding("objects"),
        called,
        ("UntrainableError", "refusal_cases.Point", "at result[1]['points'][0]", "pytree"),
    ),
    "argument": Refusal(
        two_layers,
        lambda module: module(np.zeros((3, 4))),
        ("UntrainableError", "numpy.ndarray", "Wrap"),
    ),
    "sparse": Refusal(
        two_layers,
        lambda module: module(torch.randn(3, 4).to_sparse()),
        ("UntrainableError", "tensor 1", "sparse_coo", "to_dense()"),
    ),
    "complex": Refusal(
        lambda: nn.Linear(4, 4, dtype=torch.complex64),
        lambda module: module(torch.randn(3, 4)),
        ("UntrainableError", "'weight'", "complex64", "view_as_real"),
    ),
    "argument-elsewhere": Refusal(
        two_layers,
        lambda module: module(torch.randn(3, 4, device="meta")),
        ("UntrainableError", "tensor 1", "meta", "on the CPU"),
    ),
    "parameter-elsewhere": Refusal(on_meta, called, ("UntrainableError", "'2.weight'", "meta")),
    "float64": Refusal(
        precise,
        lambda module: module(torch.randn(3, 4, dtype=torch.float64)),
        ("UntrainableError", "float64", "float32"),
    ),
    "clamped-parameter": Refusal(
        Clamped, called, ("LostUpdateError", "'linear.weight'", "after optimizer.step()")
    ),
    "integers": Refusal(
        two_layers,
        lambda module: module(torch.ones(3, 4, dtype=torch.int64)),
        ("RuntimeError", "same dtype"),
    ),
    "no-module": Refusal(
        two_layers,
        lambda module: type(module)(nn.Linear),  # type: ignore[arg-type]
        ("UntrainableError", "torch.nn.Module", "ORTModule(MyModule())"),
    ),
    "scripted": Refusal(
        two_layers,
        lambda module: type(module)(nn.Sequential(traced_layer())),
        ("UntrainableError", "Layer '0'", "torch.jit.trace", "nn.Module it was made of"),
    ),
    "autocast-recurrent": Refusal(
        lambda: nn.Sequential(nn.LSTM(4, 4)),
        in_bfloat16,
        ("UntrainableError", "does not run LSTM under", "float32"),
    ),
    "autocast-function": Refusal(
        Straight, in_bfloat16, ("UntrainableError", "custom torch.autograd.Functions", "bfloat16")
    ),
    "autocast-half": Refusal(
        lambda: two_layers().bfloat16(),
        in_bfloat16,
        ("UntrainableError", "'0.weight'", "bfloat16", "float()"),
    ),
    "half-module": Refusal(
        lambda: two_layers().bfloat16(),
        lambda module: module(torch.randn(3, 4, dtype=torch.bfloat16)),
        (
            "UntrainableError",
            "'0.weight' and all other parameters of this one are bfloat16",
            "torch.autocast",
        ),
    ),
    "synchronized-statistics": Refusal(
        synchronized, in_a_process_group, ("ValueError", "SyncBatchNorm expected input", "GPU")
    ),
    "synchronized-later": Refusal(
        synchronized, joins_a_process_group, ("ValueError", "SyncBatchNorm expected input", "GPU")
    ),
    "backward-twice": Refusal(two_layers, backward_twice, ("EngineError", "second backward pass")),
    "second-derivative": Refusal(two_layers, second_derivative, ("EngineError", "create_graph")),
    "changed-result": Refusal(
        two_layers, changed_result, ("EngineError", "result", "in place", "clone")
    ),
    "changed-offloaded-result": Refusal(
        two_layers, changed_offloaded_result, ("EngineError", "result", "in place", "clone")
    ),
    "moved-parameter": Refusal(
        two_layers, moved_parameter, ("EngineError", "parameter", "was replaced", "after backward")
    ),
    "released-parameter": Refusal(
        two_layers, released_parameter, ("EngineError", "parameter", "was replaced")
    ),
    "changed-parameter": Refusal(
        two_layers, changed_parameter, ("EngineError", "parameter", "in place")
    ),
    "changed-frozen-parameter": Refusal(
        two_layers, changed_frozen_parameter, ("EngineError", "parameter", "in place")
    ),
    "changed-buffer": Refusal(Masked, changed_buffer, ("EngineError", "buffer", "in place")),
    "changed-argument": Refusal(
        two_layers, changed_argument, ("EngineError", "argument", "in place")
    ),
    "out-of-range": Refusal(
        lambda: nn.Embedding(5, 3),
        lambda module: module(torch.tensor([[7, 2]])),
        ("IndexError", "out of range"),
    ),
}
