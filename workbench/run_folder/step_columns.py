"""The losses and durations in a record of steps: as JSON holds them, and as arrays.

Few steps are lists of numbers, which a person can read. From `PACKED` steps on, as fast runs record
them, they are the base64 text of little-endian numbers of 64 bits: ten times as fast to read.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

PACKED = 32
"""Number of steps from which a record is packed."""
LOSSES = np.dtype("<f8")
DURATIONS = np.dtype("<i8")


def written_losses(losses: Sequence[float]) -> list[float | None] | str:
    """As JSON holds them; null, or NaN where they are packed, for one that is not finite."""
    if len(losses) < PACKED:
        return [loss if math.isfinite(loss) else None for loss in losses]
    values = np.array(losses, LOSSES)
    values[~np.isfinite(values)] = np.nan
    return _packed(values)


def written_durations(nanoseconds: Sequence[int]) -> list[int] | str:
    """As JSON holds them."""
    if len(nanoseconds) < PACKED:
        return list(nanoseconds)
    return _packed(np.array(nanoseconds, DURATIONS))


def read_losses(value: Any) -> np.ndarray:
    """(steps,) float64, NaN where one was not finite.

    Raises:
        ValueError: the value is not what JSON holds.
    """
    if isinstance(value, str):
        losses = unpacked(value, LOSSES)
        if np.isinf(losses).any():
            raise ValueError("A loss is infinite.")
        return losses
    if not isinstance(value, list) or not value:
        raise ValueError("There is no list of losses.")
    # Most lists hold only floats: these are checked at once, for speed.
    only_floats = set(map(type, value)) == {float}
    if not only_floats and not all(map(is_number_or_null, value)):
        raise ValueError("A loss is no number.")
    losses = np.array(value, np.float64)
    if only_floats and not np.isfinite(losses).all():
        raise ValueError("A loss is infinite.")
    return losses


def read_durations(value: Any) -> np.ndarray:
    """(steps,) int64, each from 1 to 2^53 - 1.

    Raises:
        ValueError: the value is not what JSON holds.
    """
    if isinstance(value, str):
        nanoseconds = unpacked(value, DURATIONS)
    # type() and not isinstance(): True is an int.
    elif isinstance(value, list) and set(map(type, value)) == {int}:
        nanoseconds = np.array(value)
    else:
        raise ValueError("There is no list of whole numbers.")
    if nanoseconds.dtype != np.int64 or nanoseconds.min() < 1 or nanoseconds.max() >= 2**53:
        raise ValueError("A duration is out of range.")
    return nanoseconds


def is_number_or_null(value: Any) -> bool:
    return value is None or is_number(value)


def is_number(value: Any) -> bool:
    """Whether `value` is finite and, if an integer, exact as float64."""
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) is int and abs(value) < 2**53


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def unpacked(text: str | bytes, dtype: np.dtype) -> np.ndarray:
    """(entries,): at least one.

    Raises:
        ValueError: the text is not base64 of one or more numbers of 64 bits.
    """
    content = base64.b64decode(text, validate=True)
    if not content:
        raise ValueError("There is no number.")
    return np.frombuffer(content, dtype)
