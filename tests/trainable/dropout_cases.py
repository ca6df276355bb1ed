"""Whatever drops at random, trained on the device and by ORTModule; run as a script."""

from __future__ import annotations

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

CHOSEN = representative(MODULES, every=2)


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
        )
    )
