"""Whatever drops at random, trained on the device and by ORTModule; run as a script."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tests.forked import outcome
from tests.parity import exported, session, warm_up
from tests.representative import representative
from tests.trainable.rewrites.rewrite_cases import batches
from workbench import ORTModule
from workbench.ort.native import native

STEPS = 4
ROWS = 16


class Attend(nn.Module):
    """Attention that drops, of one head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x).unsqueeze(1)
        dropped = 0.5 if self.training else 0.0
        return functional.scaled_dot_product_attention(x, x, x, dropout_p=dropped).squeeze(1)


class States(nn.Module):
    """Two recurrent layers with a dropout between them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(8, 8, 2, batch_first=True, dropout=0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.layer(x)[0]
        return states


def after_a_layer(dropout: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), dropout)


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Dropout": (lambda: after_a_layer(nn.Dropout(0.5)), (4, 8)),
    "Dropout1d": (lambda: after_a_layer(nn.Dropout1d(0.5)), (4, 8)),
    "Dropout2d": (lambda: after_a_layer(nn.Dropout2d(0.5)), (3, 4, 8)),
    "Dropout3d": (lambda: after_a_layer(nn.Dropout3d(0.5)), (3, 4, 4, 8)),
    "AlphaDropout": (lambda: after_a_layer(nn.AlphaDropout(0.5)), (4, 8)),
    "FeatureAlphaDropout": (lambda: after_a_layer(nn.FeatureAlphaDropout(0.5)), (4, 8)),
    "attention": (Attend, (4, 8)),
    "LSTM": (States, (4, 8)),
}

CHOSEN = representative(MODULES, every=4)


def on_device(name: str, seed: int) -> list[float]:
    """Losses on one batch, with the weights left as they are."""
    build, shape = MODULES[name]
    x = np.random.default_rng(0).normal(size=(ROWS, *shape)).astype(np.float32)
    torch.manual_seed(0)
    names = [name for name, _ in build().named_parameters()]
    with tempfile.TemporaryDirectory() as folder:
        native_session = session(
            build,
            (x, x),
            Path(folder),
            loss="mse",
            optimizer="sgd",
            weight_decay=0.0,
            trainable=names,
            seed=seed,
        )
        native_session.set_learning_rate(0.0)
        return [native_session.train_step([x, x]) for _ in range(STEPS)]


def by_ortmodule(name: str, seed: int) -> list[float]:
    """Losses on one batch, with the weights left as they are."""
    build, shape = MODULES[name]
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(ROWS, *shape)).astype(np.float32))
    torch.manual_seed(0)
    module = ORTModule(build())
    torch.manual_seed(seed)
    losses = []
    for _ in range(STEPS):
        loss = functional.mse_loss(module(x), x)
        loss.backward()
        losses.append(loss.item())
    return losses


ENGINES = {"ondevice": on_device, "ortmodule": by_ortmodule}


class DropAll(nn.Module):
    """Drops all of one branch, of which the head's bias and the other branch are left."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(6, 6), nn.Linear(6, 3)
        self.dropout = nn.Dropout(1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.layer(x)
        dropped: torch.Tensor = self.head(self.dropout(hidden) + torch.tanh(hidden))
        return dropped


def all_dropped_on_device() -> dict[str, float]:
    """Differences from PyTorch."""
    batch = batches((6,), 1)[0]
    with tempfile.TemporaryDirectory() as folder:
        native_session = session(
            DropAll,
            batch,
            Path(folder),
            loss="cross_entropy",
            optimizer="sgd",
            weight_decay=0.0,
            trainable=["layer.weight", "head.weight"],
        )
        found = native_session.train_step([*batch])
        gradient = native_session.gradient("layer.weight")
    torch.manual_seed(0)  # as the exported module
    module = DropAll()
    loss = functional.cross_entropy(module(torch.from_numpy(batch[0])), torch.from_numpy(batch[1]))
    loss.backward()
    assert module.layer.weight.grad is not None
    difference = np.abs(gradient - module.layer.weight.grad.numpy()).max()
    return {"loss": abs(found - loss.item()), "gradient": float(difference)}


def all_dropped_by_ortmodule() -> dict[str, float]:
    """Differences from PyTorch."""
    plain = DropAll()
    wrapped = ORTModule(copy.deepcopy(plain))
    x = torch.from_numpy(batches((6,), 1)[0][0])
    expected, found = plain(x), wrapped(x)
    expected.square().sum().backward()
    found.square().sum().backward()
    pairs = [(expected, found)]
    for one, other in zip(plain.parameters(), wrapped.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        pairs.append((one.grad, other.grad))
    return {"largest": max((one - other).abs().max().item() for one, other in pairs)}


ALL_DROPPED = {"ondevice": all_dropped_on_device, "ortmodule": all_dropped_by_ortmodule}

if __name__ == "__main__":
    native()
    warm_up()
    for build, shape in CHOSEN.values():
        exported(build, (ROWS, *shape))
    print(
        json.dumps(
            {
                f"{name}, {engine}": [outcome(partial(run, name, seed)) for seed in (3, 3, 4)]
                for name in CHOSEN
                for engine, run in ENGINES.items()
            }
            | {f"all, {engine}": outcome(run) for engine, run in ALL_DROPPED.items()}
        )
    )
