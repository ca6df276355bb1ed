"""Losses and optimizers, trained for 100 steps by ONNX Runtime and PyTorch; run as a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from tests.forked import outcome
from tests.parity import Arrays, exported, train_both
from workbench.ort.native import native

ROWS = 16
STEPS = 100

Make = Callable[[np.random.Generator], np.ndarray]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


class Case(NamedTuple):
    """One loss with one optimizer."""

    loss: str
    target: Make
    optimizer: str = "adamw"
    settings: dict[str, Any] | None = None
    """Of the optimizer; None: the defaults of torch.optim."""
    module: Callable[[], nn.Module] = mlp
    x: Make = lambda random: random.normal(size=(ROWS, 6)).astype(np.float32)
    steps: int = STEPS


def classes(*shape: int) -> Make:
    return lambda random: random.integers(0, 4, (ROWS, *shape))


def ignored(random: np.random.Generator) -> np.ndarray:
    """Labels of which every third counts for nothing."""
    labels = random.integers(0, 4, ROWS)
    labels[::3] = -100
    return labels


def numbers(random: np.random.Generator) -> np.ndarray:
    """Far from the outputs, so that no rounding decides the sign that l1's gradient takes."""
    signs = random.choice([-4.0, 4.0], (ROWS, 4))
    return (signs + random.normal(scale=0.5, size=(ROWS, 4))).astype(np.float32)


def probabilities(random: np.random.Generator) -> np.ndarray:
    return random.random((ROWS, 4), np.float32)


def logits(value: float) -> Case:
    """One step on logits that are all `value`, by a module that passes them on."""
    return Case(
        "bce_with_logits",
        probabilities,
        "sgd",
        module=Shift,
        x=lambda _: np.full((ROWS, 4), value, np.float32),
        steps=1,
    )


class Shift(nn.Module):
    """x + b with b = 0."""

    def __init__(self) -> None:
        super().__init__()
        self.b = nn.Parameter(torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.b


def positions(random: np.random.Generator) -> np.ndarray:
    return random.normal(size=(ROWS, 5, 6)).astype(np.float32)


def image() -> nn.Module:
    return nn.Conv1d(5, 4, 1)


CASES = {
    **{
        f"{loss}, {optimizer}": Case(loss, target, optimizer)
        for loss, target in (
            ("cross_entropy", classes()),
            ("mse", numbers),
            ("l1", numbers),
            ("bce_with_logits", probabilities),
        )
        for optimizer in ("adamw", "sgd")
    },
    "adamw, settings": Case("mse", numbers, settings={"lr": 0.01, "weight_decay": 0.1}),
    "adamw, no decay": Case("mse", numbers, settings={"lr": 0.01, "weight_decay": 0.0}),
    "sgd, decay": Case("mse", numbers, "sgd", {"lr": 0.02, "weight_decay": 0.1}),
    "ignored labels": Case("cross_entropy", ignored),
    "classes last": Case("cross_entropy", classes(5), x=positions),
    "classes on axis 1": Case("cross_entropy", classes(6), module=image, x=positions),
    "classes last, rank 4": Case(
        "cross_entropy",
        classes(2, 3),
        x=lambda random: random.normal(size=(ROWS, 2, 3, 6)).astype(np.float32),
    ),
    "logits of 0": logits(0.0),
    "logits of 200": logits(200.0),
    "logits of -200": logits(-200.0),
    "logits of 1e-6": logits(1e-6),
}


def train(case: Case) -> dict[str, float]:
    random = np.random.default_rng(3)
    batches: list[Arrays] = [(case.x(random), case.target(random)) for _ in range(case.steps)]
    return train_both(
        case.module,
        batches,
        loss=case.loss,
        optimizer=case.optimizer,
        optimizer_settings=case.settings,
    )


if __name__ == "__main__":
    native()
    for case in CASES.values():
        exported(case.module, case.x(np.random.default_rng(0)).shape)
    print(json.dumps({name: outcome(partial(train, case)) for name, case in CASES.items()}))
