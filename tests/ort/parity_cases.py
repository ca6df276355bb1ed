"""Losses and optimizers, trained for 100 steps by ONNX Runtime and PyTorch; run as a script."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tests.forked import outcome
from tests.parity import Arrays, exported, session, train_both, warm_up
from tests.representative import representative
from workbench.losses.loss import Loss
from workbench.ort.native import native

ROWS = 16
STEPS = 100

Make = Callable[[np.random.Generator], Any]
"""Makes an array, or the targets of several losses."""


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


class Case(NamedTuple):
    """One loss, or several, with one optimizer."""

    loss: Any
    target: Make
    optimizer: str = "adamw"
    settings: dict[str, Any] | None = None
    """Of the optimizer; None: the defaults of torch.optim."""
    module: Callable[[], nn.Module] = mlp
    x: Make = lambda random: random.normal(size=(ROWS, 6)).astype(np.float32)
    steps: int = STEPS


def classes(*shape: int) -> Make:
    return lambda random: random.integers(0, 4, (ROWS, *shape))


def distributions(*shape: int) -> Make:
    """Probabilities of four classes, on axis 1."""

    def make(random: np.random.Generator) -> np.ndarray:
        weights = random.random((ROWS, 4, *shape))
        return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)

    return make


def ignored_places(random: np.random.Generator) -> np.ndarray:
    """A class for each of five places of a row; class 2 counts for nothing in some cases."""
    return random.integers(0, 4, (ROWS, 5))


def ignored(random: np.random.Generator) -> np.ndarray:
    """Labels of which every third counts for nothing."""
    labels = random.integers(0, 4, ROWS)
    labels[::3] = -100
    return labels


def mostly_ignored(random: np.random.Generator) -> np.ndarray:
    """Labels of five places of a row, of which few or all count, but one at least."""
    labels = random.integers(0, 4, (ROWS, 5))
    counted = random.random(labels.shape) < random.choice([0.0, 0.15, 1.0])
    counted.flat[random.integers(labels.size)] = True
    return np.where(counted, labels, -100)


def numbers(random: np.random.Generator) -> np.ndarray:
    """Far from the outputs, so that no rounding decides the sign that l1's gradient takes."""
    signs = random.choice([-4.0, 4.0], (ROWS, 4))
    return (signs + random.normal(scale=0.5, size=(ROWS, 4))).astype(np.float32)


def probabilities(random: np.random.Generator) -> np.ndarray:
    return random.random((ROWS, 4), np.float32)


def logits(value: float, **options: Any) -> Case:
    """One step on logits that are all `value`, by a module that passes them on."""
    return Case(
        Loss("bce_with_logits", **options),
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


def near(random: np.random.Generator) -> np.ndarray:
    """Some within reach of the outputs and some not, for a loss that changes on the way."""
    return random.normal(scale=2, size=(ROWS, 4)).astype(np.float32)


def image() -> nn.Module:
    return nn.Conv1d(5, 4, 1)


def log_probabilities() -> nn.Module:
    return nn.Sequential(mlp(), nn.LogSoftmax(-1))


def tagger() -> nn.Module:
    """A tagger whose result at one place depends on no other."""
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


class Heads(nn.Module):
    """Outputs of two shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.one, self.two = nn.Linear(6, 16), nn.Linear(16, 4), nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        body = torch.tanh(self.body(x))
        return self.one(body), self.two(body)


def both(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A class, and two numbers far from the outputs."""
    return random.integers(0, 4, ROWS), numbers(random)[:, :2].copy()


def focal(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    chosen = output.log_softmax(1).gather(1, target[:, None])
    return -((1 - chosen.exp()) ** 2 * chosen).mean()


def quartic(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Its sum takes the size of the batch into account."""
    return (output - target).pow(4).sum() / (100 * target.shape[0])


def of_class_losses(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    smooth = functional.cross_entropy(output, target, label_smoothing=0.1)
    weight = torch.tensor(CLASSES)
    return smooth + functional.nll_loss(output.log_softmax(1), target, weight=weight)


def mean_of_places(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(output.flatten(0, 1), target.flatten())


def sum_of_places(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="sum")


def of_everything(
    outputs: tuple[torch.Tensor, torch.Tensor], targets: tuple[torch.Tensor, torch.Tensor]
) -> torch.Tensor:
    return focal(outputs[0], targets[0]) + 0.3 * quartic(outputs[1], targets[1])


class Margin(nn.Module):
    """A criterion with a constant of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.sqrt((self.scale * (output - target)) ** 2 + 1).mean()


CLASSES = [0.5, 2.0, 1.0, 3.0]
"""Weights of the classes."""
SMOOTH = {"label_smoothing": 0.1}


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
    "ignored places": Case(
        Loss("cross_entropy", weight=CLASSES), mostly_ignored, module=tagger, x=positions
    ),
    "function of ignored places": Case(
        Loss(sum_of_places, factor=0.01), mostly_ignored, "sgd", module=tagger, x=positions
    ),
    "one counted place": Case(
        "cross_entropy",
        lambda random: np.array([[-100], [random.integers(0, 4)]]),
        "sgd",
        module=tagger,
        x=lambda random: random.normal(size=(2, 1, 6)).astype(np.float32),
        steps=20,
    ),
    "class weights": Case(Loss("cross_entropy", weight=CLASSES), ignored),
    "ignored class": Case(Loss("cross_entropy", ignore_index=2), classes()),
    "label smoothing": Case(Loss("cross_entropy", **SMOOTH), ignored),
    "smoothing, weights": Case(Loss("cross_entropy", weight=CLASSES, **SMOOTH), ignored),
    "smoothing alone": Case(Loss("cross_entropy", label_smoothing=1.0), classes()),
    "smoothing, classes last": Case(
        Loss("cross_entropy", weight=CLASSES, ignore_index=2, **SMOOTH), ignored_places, x=positions
    ),
    "smoothing, classes on axis 1": Case(
        Loss("cross_entropy", weight=CLASSES, ignore_index=2, **SMOOTH),
        classes(6),
        module=image,
        x=positions,
    ),
    "class probabilities": Case("cross_entropy", distributions()),
    "class probabilities, options": Case(
        Loss("cross_entropy", weight=CLASSES, **SMOOTH), distributions()
    ),
    "class probabilities of places": Case(
        Loss("cross_entropy", weight=CLASSES, **SMOOTH), distributions(6), module=image, x=positions
    ),
    "factor": Case(Loss("cross_entropy", factor=0.3), classes()),
    "nll": Case("nll", ignored, module=log_probabilities),
    "nll, options": Case(
        Loss("nll", weight=CLASSES, ignore_index=2), classes(), module=log_probabilities
    ),
    "nll, classes last": Case(
        Loss("nll", weight=CLASSES, ignore_index=2),
        ignored_places,
        module=log_probabilities,
        x=positions,
    ),
    "nll, classes on axis 1": Case(
        Loss("nll", weight=CLASSES),
        classes(6),
        module=image,
        x=positions,
        optimizer="sgd",
        steps=20,
    ),
    "smooth_l1": Case("smooth_l1", near),
    "smooth_l1, beta": Case(Loss("smooth_l1", beta=0.3), near, "sgd"),
    "smooth_l1, beta 0": Case(Loss("smooth_l1", beta=0), numbers),
    "bce, pos_weight": Case(Loss("bce_with_logits", pos_weight=CLASSES), probabilities),
    "bce, pos_weight of all": Case(Loss("bce_with_logits", pos_weight=3.0), probabilities, "sgd"),
    "bce, weight": Case(Loss("bce_with_logits", weight=CLASSES), probabilities),
    "bce, both": Case(Loss("bce_with_logits", weight=CLASSES, pos_weight=CLASSES), probabilities),
    **{
        f"logits of {value:g}, pos_weight": logits(value, pos_weight=CLASSES)
        for value in (0.0, 200.0, -200.0, 3e38, -3e38)
    },
    "function": Case(focal, classes()),
    "function of class losses": Case(of_class_losses, ignored),
    "function, factor": Case(Loss(quartic, factor=0.5), numbers, "sgd"),
    "function of all": Case(of_everything, both, module=Heads),
    "function that is a module": Case(Margin(), numbers),
    "several": Case(["cross_entropy", Loss("mse", factor=0.3)], both, module=Heads),
    "several, one a function": Case([focal, Loss("smooth_l1")], both, "sgd", module=Heads),
    "logits of 0": logits(0.0),
    "logits of 200": logits(200.0),
    "logits of -200": logits(-200.0),
    "logits of 1e-6": logits(1e-6),
}

CHOSEN = representative(
    CASES,
    every=16,
    always=(
        "several, one a function",
        "ignored places",
        "function of ignored places",
        "one counted place",
    ),
)

ALL_IGNORED = {
    "cross_entropy": "cross_entropy",
    "mean": Loss(mean_of_places),
    "sum": Loss(sum_of_places),
}
"""Losses of batches in which no label counts."""


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


def without_labels(loss: Any) -> dict[str, float]:
    """The loss of a batch in which no label counts, and the largest magnitude of a gradient."""
    batch = (positions(np.random.default_rng(0)), np.full((ROWS, 5), -100))
    names = [name for name, _ in tagger().named_parameters()]
    with tempfile.TemporaryDirectory() as folder:
        native = session(
            *(tagger, batch, Path(folder)),
            loss=loss,
            optimizer="sgd",
            weight_decay=0.0,
            trainable=names,
        )
        native.train_step([part[:1] for part in batch])
        value = native.train_step(list(batch))
        return {
            "loss": value,
            "gradient": float(np.max([np.abs(native.gradient(name)).max() for name in names])),
        }


if __name__ == "__main__":
    native()
    warm_up()
    for case in CHOSEN.values():
        exported(case.module, case.x(np.random.default_rng(0)).shape)
    outcomes = {name: outcome(partial(train, case)) for name, case in CHOSEN.items()}
    outcomes |= {
        f"all ignored, {name}": outcome(partial(without_labels, loss))
        for name, loss in ALL_IGNORED.items()
    }
    print(json.dumps(outcomes))
