"""What `load_dataset` is told beside the source, checked before anything is read."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from workbench.errors import DataError

LARGEST_SIDE = 1 << 14
"""Pixels: beyond that an `image_size` is a mistake."""


def check_fraction(test_fraction: Any) -> None:
    """Raise a DataError unless `test_fraction` is a number in [0, 1)."""
    number = isinstance(test_fraction, Real) and not isinstance(test_fraction, bool)
    if not number or not 0 <= test_fraction < 1:
        raise DataError(f"test_fraction={test_fraction!r}: choose a number from 0 to below 1.")


def check_seed(seed: Any) -> None:
    """Raise a DataError unless `seed` is a whole number, 0 or more."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise DataError(f"seed={seed!r}: choose a whole number, 0 or more.")


def check_image_size(image_size: Any) -> None:
    """Raise a DataError unless `image_size` is None or (height, width) in pixels."""
    if image_size is None:
        return
    sides = list(image_size) if isinstance(image_size, tuple | list) else []
    if len(sides) != 2 or not all(_is_side(side) for side in sides):
        raise DataError(
            f"image_size={image_size!r}: give (height, width), two whole numbers of pixels from 1 "
            f"to {LARGEST_SIDE}."
        )


def check_classes(classes: Any) -> None:
    """Raise a DataError unless `classes` is None or names, each another."""
    if classes is None:
        return
    names = list(classes) if isinstance(classes, tuple | list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"classes={classes!r}: give the names of the classes, as a tuple of text.")
    if len(set(names)) != len(names):
        raise DataError(f"classes={classes!r}: give each class another name.")


def _is_side(side: Any) -> bool:
    whole = isinstance(side, Integral) and not isinstance(side, bool)
    return whole and 1 <= side <= LARGEST_SIDE
