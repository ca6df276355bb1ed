"""Finds the ink in a photograph of a symbol on paper."""

from __future__ import annotations

import numpy as np

from workbench.data.strokes import MARGIN, RADIUS, SIDE
from workbench.errors import DataError

LEAST_CONTRAST = 24.0
"""Grey levels, of 256, that ink must be darker than paper."""
INK = 0.35
"""Share of the darkest ink's darkness from which a pixel counts as ink."""
LEAST_PIXELS = 6
"""Pixels of ink; fewer are noise."""


def ink_of(picture: np.ndarray) -> np.ndarray:
    """The ink of a dark symbol on light paper, cut out with the margin that drawings have.

    Light that falls off to one side is taken away first: a plane through the brightness of the
    paper.

    Args:
        picture: (height, width), uint8, 0 black to 255 white.

    Returns:
        (side, side), float32: 0 is paper, 1 is ink.

    Raises:
        DataError: it is no such picture, or nothing in it is dark on light.
    """
    if picture.dtype != np.uint8 or picture.ndim != 2 or min(picture.shape) < 8:
        raise DataError(
            "A picture must be an array (height, width) of uint8, 8 by 8 or larger; this one is "
            f"{picture.dtype} of shape {picture.shape}."
        )
    darkness = _paper(picture.astype(np.float64)) - picture
    darkest = float(np.percentile(darkness, 99.5))
    ink = np.clip(darkness / max(darkest, 1e-9), 0, 1)
    rows, columns = np.nonzero(ink >= INK)
    if darkest < LEAST_CONTRAST or len(rows) < LEAST_PIXELS:
        raise DataError(
            "The picture shows no dark symbol on light paper; hold it nearer, or light it better."
        )
    # What is fainter is shadow and noise.
    ink = np.clip((ink - INK / 2) / (1 - INK / 2), 0, 1).astype(np.float32)
    part = ink[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    longest = max(part.shape)
    # The margin of a drawing is measured from the middle of its lines.
    side = round(longest * SIDE / (SIDE - 2 * (MARGIN - RADIUS)))
    framed = np.zeros((side, side), np.float32)
    top, left = (side - part.shape[0]) // 2, (side - part.shape[1]) // 2
    framed[top : top + part.shape[0], left : left + part.shape[1]] = part
    return framed


def _paper(picture: np.ndarray) -> np.ndarray:
    """The brightness of the paper under the symbol: a plane fitted to what is not dark."""
    rows, columns = np.mgrid[0 : picture.shape[0], 0 : picture.shape[1]]
    terms = np.stack([np.ones(picture.size), rows.ravel(), columns.ravel()], axis=1)
    values = picture.ravel()
    light = values >= np.median(values)
    plane = values
    for _ in range(3):
        weights = np.linalg.lstsq(terms[light], values[light], rcond=None)[0]
        plane = terms @ weights
        rest = values - plane
        light = rest > -max(2 * float(rest[light].std()), 4.0)
    return plane.reshape(picture.shape)
