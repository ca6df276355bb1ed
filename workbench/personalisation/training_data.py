"""Converts examples to a dataset: held-out examples, and augmented training rows."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from workbench.data import Dataset, Split
from workbench.data.augmentation import varied_clips, varied_images
from workbench.data.spectrogram import spectrograms
from workbench.errors import DataError, value_text
from workbench.personalisation.class_slots import ClassSlots
from workbench.personalisation.examples.example import FULL_SCALE, Example, Kind
from workbench.personalisation.examples.examples import Examples

DATA_NAME = "examples"
"""Name of the dataset of a user's own examples."""
ROWS = {"image": 480, "audio": 240}
"""Rows of the augmented training split, by kind."""


class Parts(NamedTuple):
    """The examples for training and the held-out ones."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]


def split_examples(examples: Examples, held_out: float, seed: int) -> Parts:
    """Hold out a share of the examples of each label, at least one, drawn at random.

    Raises:
        DataError: `held_out` is not between 0 and 1, there are no two labels, or a label has only
            one example.
    """
    check_share(held_out)
    counts = {label: count for label, count in examples.counts().items() if count}
    if len(counts) < 2:
        raise DataError(
            f"Training needs examples of two labels or more; there are {len(counts)}. Add some."
        )
    single = [label for label, count in counts.items() if count < 2]
    if single:
        raise DataError(
            f"Label {value_text(single[0])} has one example; each label needs at least two: one to "
            "train with and one to hold out."
        )
    random = np.random.default_rng(seed)
    chosen: set[int] = set()
    for label, count in counts.items():
        ids = [item.id for item in examples.items if item.label == label]
        number = min(count - 1, max(1, round(count * held_out)))
        chosen.update(random.permutation(ids)[:number].tolist())
    return Parts(
        tuple(item for item in examples.items if item.id not in chosen),
        tuple(item for item in examples.items if item.id in chosen),
    )


def check_share(held_out: float) -> None:
    """Raise a DataError unless `held_out` is a number between 0 and 1."""
    if not isinstance(held_out, Real) or isinstance(held_out, bool) or not 0 < held_out < 1:
        raise DataError(f"held_out={value_text(held_out)}: give a share between 0 and 1.")


def model_inputs(kind: Kind, values: Sequence[np.ndarray]) -> np.ndarray:
    """Images or recordings as inputs of the sample's model, (rows, 1, height, width), float32."""
    return _inputs(kind, _floats(kind, values))


def class_dataset(kind: Kind, parts: Parts, slots: ClassSlots, seed: int, augment: bool) -> Dataset:
    """The dataset of images or recordings; targets are the outputs of their labels.

    The training split holds its examples, and with `augment` varied copies of them up to `ROWS`;
    the test split the held-out examples as they are.
    """
    floats = _floats(kind, [_array(item) for item in parts.train])
    labels = [item.label for item in parts.train]
    rows = [floats]
    if augment:
        random = np.random.default_rng(seed)
        vary = varied_images if kind == "image" else varied_clips
        rows += [vary(floats, random) for _ in range(max(0, ROWS[kind] // len(floats) - 1))]
    inputs = _inputs(kind, np.concatenate(rows))
    train = Split([inputs], slots.targets(labels * len(rows)))
    held_out = model_inputs(kind, [_array(item) for item in parts.held_out])
    test = Split([held_out], slots.targets([item.label for item in parts.held_out]))
    return Dataset(DATA_NAME, train, test, slots.classes)


def _array(item: Example) -> np.ndarray:
    assert isinstance(item.value, np.ndarray)
    return item.value


def _floats(kind: Kind, values: Sequence[np.ndarray]) -> np.ndarray:
    """(rows, 28, 28) from 0 to 1, or (rows, 8000) from -1 to 1, float32."""
    scale = 255 if kind == "image" else FULL_SCALE
    return np.stack(values).astype(np.float32) / np.float32(scale)


def _inputs(kind: Kind, floats: np.ndarray) -> np.ndarray:
    rows = floats if kind == "image" else spectrograms(floats)
    return np.ascontiguousarray(rows[:, np.newaxis])
