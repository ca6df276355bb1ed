"""How rows of a dataset are shown: as pictures, as text, or as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

COLUMNS = 12
"""Largest number of values of a row that are shown."""

_SIGNS = {"\n": "⏎", "\t": "⇥", "\r": "␍"}
"""Visible symbols of whitespace characters."""


def as_pictures(array: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows of (height, width), (1 or 3, height, width), (height, width, 1 or 3) or the pixels of a
    square, as (height, width) or (height, width, 3) uint8 from the darkest to the lightest value of
    all; empty if they are not pictures."""
    some = np.asarray(array)
    if some.ndim == 4 and some.shape[1] in (1, 3):
        some = np.moveaxis(some, 1, -1)
    if some.ndim == 4 and some.shape[-1] == 1:
        some = some[..., 0]
    if some.ndim == 2 and some.dtype.kind == "f" and _is_square(some.shape[1]):
        side = round(some.shape[1] ** 0.5)
        some = some.reshape(len(some), side, side)
    sizes = some.shape[1:3]
    usual = some.dtype.kind == "f" and some.ndim in (3, 4) and min(sizes, default=0) >= 4
    if not usual or max(sizes) > 512 or (some.ndim == 4 and some.shape[-1] != 3):
        return ()
    finite = np.nan_to_num(some, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(finite.min()), float(finite.max())
    scaled = (finite - low) / (high - low or 1.0) * 255
    return tuple(pixels.round().astype(np.uint8) for pixels in scaled)


def is_text(row: np.ndarray, vocabulary: Sequence[str] | None) -> bool:
    """Whether a row, (positions,), consists of numbers in the vocabulary."""
    if vocabulary is None or row.ndim != 1 or row.dtype.kind not in "iu" or not row.size:
        return False
    return bool(row.min() >= 0 and row.max() < len(vocabulary))


def as_symbols(numbers: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    """Name of each number, with visible characters; "·" for a number without a name."""
    known = range(len(names))
    return tuple(shown_symbol(names[one]) if one in known else "·" for one in numbers.tolist())


def as_text(numbers: np.ndarray, vocabulary: Sequence[str]) -> str:
    """The text of a row; tokens longer than a character are separated by spaces."""
    between = "" if all(len(each) <= 1 for each in vocabulary) else " "
    return between.join(as_symbols(numbers, vocabulary))


def shown_symbol(name: str) -> str:
    """A character in visible form within a text."""
    return _SIGNS.get(name, name)


def class_names(classes: Sequence[str] | None) -> list[str]:
    """Names of classes, each in visible form; empty without any."""
    return ["␣" if name == " " else shown_symbol(name) for name in classes or ()]


def class_name(value: Any, classes: Sequence[str] | None) -> str:
    """Name of one class, or its number."""
    number = int(value)
    names = class_names(classes)
    return names[number] if 0 <= number < len(names) else str(number)


def as_cells(inputs: Sequence[np.ndarray]) -> tuple[str, ...]:
    """The first `COLUMNS` values of one row, over all its inputs; "…" after them if it has more."""
    flat = [value for array in inputs for value in np.ravel(array)[:COLUMNS].tolist()][:COLUMNS]
    total = sum(array.size for array in inputs)
    return (*map(as_number, flat), *(["…"] if total > len(flat) else []))


def as_number(value: float) -> str:
    """One value in a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_square(size: int) -> bool:
    """Whether rows of `size` numbers are drawn as squares: 8 x 8 and more."""
    return size >= 64 and round(size**0.5) ** 2 == size
