"""Sketches of simple symbols and a small convolutional network."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from sample_models.sample import Base, Sample
from sample_models.sketch_cnn.symbols import SYMBOLS, drawn
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset

OUTPUTS = 40
"""The symbols, and room for sixteen of a user's own."""

DRAWINGS = 80
"""Of each symbol."""


def build() -> torch.nn.Module:
    """Three convolutions, 28x28 to 7x7, and two linear layers."""
    from torch import nn

    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(1, 16, 3, padding=1),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(16, 32, 3, padding=1),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            conv3=nn.Conv2d(32, 32, 3, padding=1),
            relu3=nn.ReLU(),
            flatten=nn.Flatten(),
            hidden=nn.Linear(32 * 7 * 7, 64),
            relu4=nn.ReLU(),
            output=nn.Linear(64, OUTPUTS),
        )
    )


def load_sketches(test_fraction: float, seed: int) -> Dataset:
    """1,920 sketches of twenty-four symbols, (rows, 1, 28, 28), float32, and their numbers.

    Every sketch is drawn by this code, from the strokes in `symbols.py`, each time the same; test
    rows are drawn at random.
    """
    from workbench.data.dataset import Dataset
    from workbench.data.rows import Rows, split_rows
    from workbench.data.strokes import rasterise

    random = np.random.default_rng(0)
    images = [
        rasterise(drawn(strokes, random)) for strokes in SYMBOLS.values() for _ in range(DRAWINGS)
    ]
    symbols = np.repeat(np.arange(len(SYMBOLS)), DRAWINGS)
    names = (*SYMBOLS, *(f"free {number}" for number in range(1, OUTPUTS - len(SYMBOLS) + 1)))
    rows = Rows((np.stack(images)[:, np.newaxis],), symbols, names)
    split = split_rows(rows, "sketches", test_fraction, seed)
    return Dataset(split.name, split.train, split.test, names)


SAMPLE = Sample(
    name="sketch-cnn",
    card=(
        "Recognises sketches of twenty-four simple symbols, drawn by a program with many "
        "deformations, with three convolutions and two linear layers, 117,064 parameters. Sixteen "
        "of its 40 outputs are free for symbols of a user's own. Its base checkpoint, of 30 "
        "epochs, reaches 96 % test accuracy."
    ),
    build=build,
    dataset_name="sketches",
    dataset=load_sketches,
    defaults={
        "loss": "cross_entropy",
        "optimizer": "adamw",
        "learning_rate": 2e-3,
        "batch_size": 32,
        "epochs": 6,
    },
    inputs=(TensorSpec("image", ("batch", 1, 28, 28), "float32"),),
    outputs=(TensorSpec("logits", ("batch", OUTPUTS), "float32"),),
    base=Base("image", tuple(SYMBOLS)),
)
