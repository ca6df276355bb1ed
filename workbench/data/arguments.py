"""Validation of the arguments of `load_dataset`."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from workbench.errors import DataError

LARGEST_SIDE = 1 << 14
"""Largest height or width of `image_size`, in pixels."""


def check_fraction(test_fraction: Any) -> None:
    """Raise a DataError unless `test_fraction` is a number in [0, 1)."""
    number = isinstance(test_fraction, Real) and not isinstance(test_fraction, bool)
    if not number or not 0 <= test_fraction < 1:
        raise DataError(f"test_fraction={test_fraction!r}: must be a number from 0 to below 1.")


def check_seed(seed: Any) -> None:
    """Raise a DataError unless `seed` is an integer, 0 or more."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise DataError(f"seed={seed!r}: must be an integer, 0 or more.")


def check_image_size(image_size: Any) -> None:
    """Raise a DataError unless `image_size` is None or (height, width) in pixels."""
    if image_size is None:
        return
    sides = list(image_size) if isinstance(image_size, tuple | list) else []
    if len(sides) != 2 or not all(_is_side(side) for side in sides):
        raise DataError(
            f"image_size={image_size!r}: must be (height, width), two integers from 1 to "
            f"{LARGEST_SIDE} pixels."
        )


def check_classes(classes: Any) -> None:
    """Raise a DataError unless `classes` is None or distinct names."""
    if classes is None:
        return
    names = list(classes) if isinstance(classes, tuple | list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"classes={classes!r}: must be the class names, a tuple of strings.")
    if len(set(names)) != len(names):
        raise DataError(f"classes={classes!r}: class names must be unique.")


def _is_side(side: Any) -> bool:
    whole = isinstance(side, Integral) and not isinstance(side, bool)
    return whole and 1 <= side <= LARGEST_SIDE
