"""One example of a user, and the values that are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from workbench.data.spectrogram import LENGTH, RATE_HZ, clip_of
from workbench.data.strokes import SIDE, rasterise
from workbench.display.encodable import encodable
from workbench.errors import DataError, nearest, value_text

Kind = Literal["image", "audio", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST = 10_000
"""Examples of a collection, at most."""
LONGEST_LABEL = 60
"""Characters of a label, at most."""
LONGEST_TEXT = 1_000_000
"""Characters of a text, at most."""
FULL_SCALE = 32767
"""The int16 of a sound sample of 1."""


@dataclass(frozen=True, eq=False)
class Example:
    """A labelled example, as a collection keeps it."""

    id: int
    """Unique in its collection, and never used again."""
    label: str
    value: np.ndarray | str
    """Image: (28, 28), uint8, 255 is ink. Audio: (8000,), int16, one second of 8 kHz. Text: str."""


def check_kind(kind: Any) -> Kind:
    """`kind` if it is one.

    Raises:
        DataError: it is not.
    """
    if kind not in KINDS:
        raise DataError(f"kind={value_text(kind)}: {nearest(str(kind), KINDS)}")
    found: Kind = kind
    return found


def check_label(label: Any) -> str:
    """`label` without blanks around it.

    Raises:
        DataError: it is not a str, is empty or too long, or has characters that cannot be shown.
    """
    text = label.strip() if isinstance(label, str) else ""
    if not text or len(text) > LONGEST_LABEL or not text.isprintable():
        raise DataError(
            f"label={value_text(label)}: give a text of 1 to {LONGEST_LABEL} printable characters."
        )
    return text


def stored_value(kind: Kind, value: Any, rate: float | None = None) -> np.ndarray | str:
    """The form in which a collection stores `value`; see `Examples.add`.

    Raises:
        DataError: it is not a value of this kind.
    """
    if kind == "text":
        return _text(value)
    if kind == "image":
        return np.round(_image(value) * 255).astype(np.uint8)
    if isinstance(value, tuple) and len(value) == 2:
        value, rate = value
    clip = clip_of(value, RATE_HZ if rate is None else rate)
    return np.round(clip * FULL_SCALE).astype(np.int16)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"A text must be a str that is not blank, not {value_text(value)}.")
    if len(value) > LONGEST_TEXT:
        raise DataError(f"The text has {len(value):,} characters; at most {LONGEST_TEXT:,}.")
    if encodable(value) != value:
        raise DataError("The text holds half of a character, as a cut in it leaves; remove that.")
    return value


def _image(value: Any) -> np.ndarray:
    """(28, 28), float: 1 is ink."""
    if isinstance(value, Sequence):
        return rasterise(value)
    image = np.asarray(value)
    numbers = image.dtype == np.uint8 or image.dtype.kind == "f"
    if not numbers or image.ndim not in (2, 3) or min(image.shape, default=0) < 1:
        raise DataError(
            "An image must be strokes, lists of points (x, y), or an array (height, width) or "
            "(height, width, channels) of uint8 or of floats from 0 to 1; this one is "
            f"{image.dtype} of shape {image.shape}."
        )
    grey = image / 255 if image.dtype == np.uint8 else image.astype(np.float64)
    if not (np.isfinite(grey).all() and grey.min() >= 0 and grey.max() <= 1):
        raise DataError("The floats of an image must be from 0, paper, to 1, ink.")
    if grey.ndim == 3:
        grey = grey[..., :3].mean(axis=2)
    return _averaged(_averaged(grey).T).T


def _averaged(rows: np.ndarray) -> np.ndarray:
    """28 rows, each the mean of those that it covers."""
    edges = np.linspace(0, len(rows), SIDE + 1)
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    whole = np.minimum(edges.astype(int), len(rows) - 1)
    up_to = sums[whole] + rows[whole] * (edges - whole)[:, np.newaxis]
    found: np.ndarray = np.diff(up_to, axis=0) / np.diff(edges)[:, np.newaxis]
    clipped: np.ndarray = np.clip(found, 0, 1)
    return clipped


def is_stored(kind: Kind, values: np.ndarray) -> bool:
    """Whether an array of a file holds values of this kind, one per row."""
    shape, dtype = {
        "image": ((SIDE, SIDE), np.uint8),
        "audio": ((LENGTH,), np.int16),
    }[kind]
    return values.dtype == dtype and values.shape[1:] == shape
