"""Handwritten digits and a small multilayer perceptron."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from sample_models.sample import Sample
from workbench.specs import TensorSpec

if TYPE_CHECKING:
    import torch

    from workbench.data import Dataset


def build() -> torch.nn.Module:
    """64-128-64-10 with ReLU."""
    from torch import nn

    return nn.Sequential(
        OrderedDict(
            flatten=nn.Flatten(),
            hidden1=nn.Linear(64, 128),
            relu1=nn.ReLU(),
            hidden2=nn.Linear(128, 64),
            relu2=nn.ReLU(),
            output=nn.Linear(64, 10),
        )
    )


def load_digits(test_fraction: float, seed: int) -> Dataset:
    """1,797 images (1, 8, 8), float32 from 0 to 1, and the digit that each shows, int64.

    Source: the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak,
    UCI Machine Learning Repository, 1998), as scikit-learn ships it.
    """
    from sample_models.bundled_table import bundled_table
    from workbench.data.rows import make_rows, split_rows

    table = bundled_table("digits.csv.gz")
    # Pixels count from 0 to 16.
    rows = make_rows([table[:, :-1].reshape(-1, 1, 8, 8) / 16], table[:, -1].astype(np.int64))
    names = tuple(str(digit) for digit in range(10))
    return split_rows(rows._replace(classes=names), "digits", test_fraction, seed)


SAMPLE = Sample(
    name="digits-mlp",
    card=(
        "Classifies handwritten digits (1,797 grey images of 8x8 pixels, collected at Bogazici "
        "University and included in scikit-learn) with two hidden layers, 64-128-64-10, 17,226 "
        "parameters. A step takes well under a millisecond, the shortest of the samples, so it "
        "shows the overhead of an engine. With its defaults it reaches 97 % test "
        "accuracy in a few seconds on two cores."
    ),
    build=build,
    dataset_name="digits",
    dataset=load_digits,
    defaults={
        "loss": "cross_entropy",
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "batch_size": 32,
        "epochs": 20,
    },
    inputs=(TensorSpec("image", ("batch", 1, 8, 8), "float32"),),
    outputs=(TensorSpec("logits", ("batch", 10), "float32"),),
)
