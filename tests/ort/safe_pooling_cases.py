"""Max pooling of NaN and infinity by both of ONNX Runtime's APIs and PyTorch; run as a script."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.forked import outcome
from tests.parity import exported, session, warm_up
from tests.representative import representative
from workbench import ORTModule
from workbench.ort.native import native

SHAPE = (2, 3, 8, 8)
DIVERGING = 1e30
"""A learning rate."""

OPTIONS: dict[str, dict[str, Any]] = representative(
    {
        "ortmodule": {"pytorch_kernels": "off", "device_kernels": False},
        "ortmodule, all kernels": {},
    },
    every=2,
)

POOLINGS: tuple[Callable[[], nn.Module], ...] = (
    lambda: nn.MaxPool2d(2),
    lambda: nn.MaxPool2d(3, 2, 1),
    lambda: nn.MaxPool2d(2, 1, dilation=2),
    lambda: nn.MaxPool2d(3, 2, ceil_mode=True),
    lambda: nn.Sequential(nn.Flatten(2), nn.MaxPool1d(3, 2, 1)),
    lambda: nn.Sequential(nn.Unflatten(2, (4, 2)), nn.MaxPool3d(2)),
    lambda: nn.AdaptiveMaxPool2d(4),
    lambda: nn.AdaptiveMaxPool2d(3),
)


def _every(step: int, *specials: float) -> np.ndarray:
    """Normal numbers, of which every `step`-th is one of `specials` in turn."""
    values = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    for place, special in enumerate(specials):
        values.ravel()[place :: step * len(specials)] = special
    return values


EVERY_INPUT = {
    "all NaN": _every(1, math.nan),
    "some NaN": _every(7, math.nan),
    "all -inf": _every(1, -math.inf),
    "most -inf": np.where(_every(1) < 1.2, np.float32(-math.inf), _every(1)),
    "lowest": _every(1, float(np.finfo(np.float32).min)),
    "infinities": _every(3, math.inf, -math.inf),
    "all of them": _every(4, math.nan, math.inf, -math.inf),
}
INPUTS = representative(EVERY_INPUT, always=("most -inf", "lowest"))


class Pooled(nn.Module):
    """All poolings of x + shift, one after the other in each row."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(SHAPE[1:]))
        self.poolings = nn.ModuleList([build() for build in POOLINGS])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shifted = x + self.shift
        return torch.cat([pool(shifted).flatten(1) for pool in self.poolings], 1)


def cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 4, 2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(4, 4)),
    )


def _targets(rows: int) -> np.ndarray:
    columns = Pooled()(torch.zeros(SHAPE)).shape[1]
    return np.random.default_rng(1).choice([-9.0, 9.0], (rows, columns)).astype(np.float32)


def on_device(x: np.ndarray) -> dict[str, str]:
    """How the loss and the gradient of a step differ from PyTorch's; empty where they do not."""
    target = _targets(len(x))
    with tempfile.TemporaryDirectory() as folder:
        trained = session(
            *(Pooled, (x, target), Path(folder)),
            loss="l1",
            optimizer="sgd",
            weight_decay=0.0,
            trainable=["shift"],
        )
        loss = trained.train_step([x, target])
        gradient = trained.gradient("shift")
    module = Pooled()
    expected = nn.functional.l1_loss(module(torch.tensor(x)), torch.tensor(target))
    expected.backward()
    assert module.shift.grad is not None
    differences = {"loss": (np.array(loss), expected.detach().numpy())}
    if not math.isnan(expected.item()):
        differences["gradient"] = (gradient, module.shift.grad.numpy())
    return _differences(differences)


def in_ortmodule(x: np.ndarray, engine: str) -> dict[str, str]:
    """How the result and its gradient differ from PyTorch's; empty where they do not."""
    plain, module = Pooled(), Pooled()
    fast = ORTModule(module, OPTIONS[engine])
    expected, found = plain(torch.tensor(x)), fast(torch.tensor(x))
    slopes = torch.tensor(_targets(len(x)))
    expected.backward(slopes)
    found.backward(slopes)
    assert plain.shift.grad is not None
    assert module.shift.grad is not None
    differences = {"result": (found.detach().numpy(), expected.detach().numpy())}
    if not expected.isnan().any():
        differences["gradient"] = (module.shift.grad.numpy(), plain.shift.grad.numpy())
    return _differences(differences)


def _differences(pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, str]:
    found = {}
    for what, (got, expected) in pairs.items():
        try:
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        except AssertionError as error:
            found[what] = str(error)
    return found


def diverged_on_device() -> list[str]:
    """The losses of six steps at a learning rate by which weights become NaN."""
    x, target = _every(1), np.arange(len(_every(1))) % 4
    module = cnn()
    with tempfile.TemporaryDirectory() as folder:
        trained = session(
            *(cnn, (x, target), Path(folder)),
            loss="cross_entropy",
            optimizer="sgd",
            weight_decay=0.0,
            trainable=[name for name, _ in module.named_parameters()],
        )
        trained.set_learning_rate(DIVERGING)
        return [str(trained.train_step([x, target])) for _ in range(6)]


def diverged_in_ortmodule(engine: str) -> list[str]:
    """As `diverged_on_device`."""
    x, target = torch.tensor(_every(1)), torch.arange(len(_every(1))) % 4
    torch.manual_seed(0)
    module = ORTModule(cnn(), OPTIONS[engine])
    optimizer = torch.optim.SGD(module.parameters(), lr=DIVERGING)
    losses = []
    for _ in range(6):
        loss = nn.functional.cross_entropy(module(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(str(loss.item()))
    return losses


if __name__ == "__main__":
    native()
    warm_up()
    for build in (Pooled, cnn):
        exported(build, SHAPE)
    outcomes = {
        f"ondevice: {name}": outcome(partial(on_device, x)) for name, x in INPUTS.items()
    } | {"ondevice: diverged": outcome(diverged_on_device)}
    for engine in OPTIONS:
        for name, x in INPUTS.items():
            outcomes[f"{engine}: {name}"] = outcome(partial(in_ortmodule, x, engine))
        outcomes[f"{engine}: diverged"] = outcome(partial(diverged_in_ortmodule, engine))
    print(json.dumps(outcomes))
