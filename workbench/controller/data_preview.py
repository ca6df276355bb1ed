"""What is in a dataset: a few rows as pictures, text or a table, classes and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.data import Dataset

ROWS = 12
"""How many rows are shown."""
COLUMNS = 12
"""How many values of a row are shown at most."""
RANGED_ROWS = 10_000
"""Of how many rows the ranges are; reading all of a large file would take too long."""


class Picture(NamedTuple):
    """One row as a picture."""

    pixels: np.ndarray
    """(height, width) or (height, width, 3) uint8."""
    label: str


class DataPreview(NamedTuple):
    """What is shown of a dataset."""

    name: str
    facts: tuple[tuple[str, str], ...]
    """Pairs of a name and what there is to say of it."""
    counts: tuple[tuple[str, int], ...] = ()
    """Training rows of each class, by its name."""
    pictures: tuple[Picture, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The table; empty where there are pictures."""


def data_preview(data: Dataset) -> DataPreview:
    """Look at a dataset; reads its first rows and the labels."""
    train = data.train
    target = train.target
    test = f", {len(data.test):,} to test" if data.test is not None else ", none to test"
    facts = [("Rows", f"{len(train):,} to train{test}")]
    for index, array in enumerate(train.inputs):
        name = "Input" if len(train.inputs) == 1 else f"Input {index}"
        facts.append((name, _described(array)))
    facts.append(("Target", _described(target)))
    labels = [_label(value, data.classes) for value in target[:ROWS]]
    pictures = _pictures(train.inputs[0], labels)
    columns, rows = ((), ()) if pictures else _table(train.inputs, labels)
    return DataPreview(
        data.name, tuple(facts), _counts(target, data.classes), pictures, columns, rows
    )


def _described(array: np.ndarray) -> str:
    """Shape of a row, dtype and range."""
    shape = " × ".join(str(size) for size in array.shape[1:]) or "one number"  # noqa: RUF001
    some = np.asarray(array[:RANGED_ROWS])
    if not some.size:
        return f"{shape}, {array.dtype}"
    return f"{shape}, {array.dtype}, {some.min():.4g} to {some.max():.4g}"


def _counts(target: np.ndarray, classes: Sequence[str] | None) -> tuple[tuple[str, int], ...]:
    if target.ndim != 1 or target.dtype != np.int64:
        return ()
    found, counts = np.unique(np.asarray(target), return_counts=True)
    if len(found) > 50 or found.min() < 0:
        return ()
    return tuple(
        (_label(value, classes), int(count)) for value, count in zip(found, counts, strict=True)
    )


def _label(value: Any, classes: Sequence[str] | None) -> str:
    if np.ndim(value):
        return ""
    if classes is not None and 0 <= int(value) < len(classes):
        return classes[int(value)]
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)


def _pictures(array: np.ndarray, labels: Sequence[str]) -> tuple[Picture, ...]:
    """Rows of (height, width), (1 or 3, height, width) or (height, width, 1 or 3)."""
    some = np.asarray(array[:ROWS])
    if some.ndim == 4 and some.shape[1] in (1, 3):
        some = np.moveaxis(some, 1, -1)
    if some.ndim == 4 and some.shape[-1] == 1:
        some = some[..., 0]
    if some.ndim == 2 and some.dtype == np.float32 and _is_square(some.shape[1]):
        side = round(some.shape[1] ** 0.5)
        some = some.reshape(len(some), side, side)
    sizes = some.shape[1:3]
    usual = some.dtype == np.float32 and some.ndim in (3, 4) and min(sizes, default=0) >= 4
    if not usual or max(sizes) > 512 or (some.ndim == 4 and some.shape[-1] != 3):
        return ()
    low, high = float(some.min()), float(some.max())
    scaled = (some - low) / (high - low or 1.0) * 255
    return tuple(
        Picture(pixels.round().astype(np.uint8), label)
        for pixels, label in zip(scaled, labels, strict=True)
    )


def _is_square(size: int) -> bool:
    """Whether rows of so many numbers are drawn as squares: 8 x 8 and more."""
    return size >= 64 and round(size**0.5) ** 2 == size


def _table(
    inputs: Sequence[np.ndarray], labels: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    flat = np.concatenate(
        [
            np.asarray(array[:ROWS]).reshape(min(ROWS, len(array)), -1)[:, :COLUMNS].astype(object)
            for array in inputs
        ],
        axis=1,
    )[:, :COLUMNS]
    total = sum(int(np.prod(array.shape[1:], dtype=int)) for array in inputs)
    more = total > flat.shape[1]
    columns = [*(str(index) for index in range(flat.shape[1])), *(["…"] if more else []), "target"]
    rows = tuple(
        (
            *(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row),
            *(["…"] if more else []),
            label,
        )
        for row, label in zip(flat, labels, strict=True)
    )
    return tuple(columns), rows
