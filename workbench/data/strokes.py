"""Draws strokes into a small grey image, as the samples of sketches and drawings of a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.errors import DataError, value_text

SIDE = 28
"""Height and width of the image, in pixels."""

MARGIN = 3.0
"""Pixels between the drawing and the edge."""

RADIUS = 0.9
"""Half the width of a line, in pixels."""

PIXELS = np.argwhere(np.ones((SIDE, SIDE)))[:, ::-1].astype(np.float32) + np.float32(0.5)
"""The middles of the pixels, (784, 2), row by row: x, y."""

SEGMENTS = 256
"""Segments that are drawn at once, to limit memory."""

FURTHEST = 1e12
"""Of a coordinate, in any unit."""

SMALLEST = 1e-12
"""A smaller drawing is a dot."""

LONGEST = 20_000
"""Points of a drawing; more are refused."""


def rasterise(strokes: Sequence[Any]) -> np.ndarray:
    """Draw strokes into an image, moved to its middle and scaled to its size.

    So place and size of the drawing do not matter, and its proportions are kept.

    Args:
        strokes: each a list of points (x, y) in any unit, x to the right and y down; a stroke of
            one point is a dot.

    Returns:
        (28, 28), float32: 0 is paper, 1 is ink, with smooth edges.

    Raises:
        DataError: there is no point, or one is not two finite numbers.
    """
    lines = [_points(stroke, index) for index, stroke in enumerate(strokes)]
    lines = [points for points in lines if len(points)]
    if not lines:
        raise DataError("A drawing needs at least one point; these strokes have none.")
    every = np.concatenate(lines)
    if len(every) > LONGEST:
        raise DataError(f"A drawing has {len(every):,} points; at most {LONGEST:,} are drawn.")
    low, high = every.min(axis=0), every.max(axis=0)
    extent = float((high - low).max())
    scale = (SIDE - 2 * MARGIN) / extent if extent > SMALLEST else 0.0
    placed = [(points - (low + high) / 2) * scale + SIDE / 2 for points in lines]
    # A stroke of one point is a segment of no length.
    starts = np.concatenate([points[:-1] if len(points) > 1 else points for points in placed])
    ends = np.concatenate([points[1:] if len(points) > 1 else points for points in placed])
    nearest = np.full(SIDE * SIDE, np.inf, np.float32)
    for first in range(0, len(starts), SEGMENTS):
        some = slice(first, first + SEGMENTS)
        np.minimum(nearest, _distances(starts[some], ends[some]), out=nearest)
    ink: np.ndarray = np.clip(RADIUS + 0.5 - nearest, 0, 1)
    return ink.reshape(SIDE, SIDE)


def _points(stroke: Any, index: int) -> np.ndarray:
    """The points of a stroke, (points, 2), float64."""
    try:
        points = np.asarray(stroke, np.float64)
    except (TypeError, ValueError):
        points = np.zeros(1)
    if points.size == 0:
        return np.zeros((0, 2))
    fits = points.ndim == 2 and points.shape[1] == 2
    if not fits or not (np.abs(points) <= FURTHEST).all():
        raise DataError(
            f"Stroke {index} is {value_text(stroke)}; it must be a list of points (x, y) of finite "
            f"numbers up to {FURTHEST:g}."
        )
    return points


def _distances(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """From the middle of each pixel to the nearest of the segments, (784,), float32, in pixels."""
    start, step = starts.astype(np.float32), (ends - starts).astype(np.float32)
    length = np.maximum((step**2).sum(axis=1), np.float32(1e-12))
    # How far along its segment the point nearest to each pixel lies: (pixels, segments).
    along = PIXELS @ (step / length[:, np.newaxis]).T - (start * step).sum(axis=1) / length
    np.clip(along, 0, 1, out=along)
    dx = PIXELS[:, :1] - start[:, 0] - along * step[:, 0]
    dy = PIXELS[:, 1:] - start[:, 1] - along * step[:, 1]
    nearest: np.ndarray = np.sqrt((dx * dx + dy * dy).min(axis=1))
    return nearest
