"""Reference results for the kernels of convolution and max pooling, by NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Known = tuple[str, dict[str, Any], list[Array], list[Array]]
"""Operator, attributes, inputs and outputs."""

BATCH, CHANNELS, FILTERS, HEIGHT, WIDTH = 9, 6, 42, 13, 10
GROUPS = 2

WINDOW = {
    **{"height": 3, "width": 2, "row_stride": 2, "column_stride": 1, "row_dilation": 1},
    **{"column_dilation": 2, "top": 1, "bottom": 2, "left": 0, "right": 1},
}
"""Attributes that cover all cases of the kernels."""


def convolution_check(drawn: np.random.Generator) -> Iterator[Known]:
    """Each kernel of a convolution once."""

    def normal(*shape: int) -> Array:
        return drawn.standard_normal(shape).astype(np.float32)

    x, bias = normal(BATCH, CHANNELS, HEIGHT, WIDTH), normal(FILTERS)
    weights = normal(FILTERS, CHANNELS // GROUPS, WINDOW["height"], WINDOW["width"])
    covered = _covered(x.astype(np.float64), 0.0)
    # For each group: its channels, its filters.
    grouped = covered.reshape(BATCH, GROUPS, -1, *covered.shape[2:])
    filters = weights.astype(np.float64).reshape(GROUPS, -1, *weights.shape[1:])
    product = np.einsum("ngcabhw,gfcab->ngfhw", grouped, filters)
    y = product.reshape(BATCH, FILTERS, *product.shape[3:]) + bias[:, None, None]
    attributes = {**WINDOW, "groups": GROUPS}
    yield "Convolution", attributes, [x, weights, bias], [y]

    dy = normal(*y.shape)
    upstream = dy.astype(np.float64).reshape(product.shape)
    slopes = np.einsum("ngfhw,gfcab->ngcabhw", upstream, filters).reshape(covered.shape)
    dx = _spread(slopes, x.shape)
    dw = np.einsum("ngfhw,ngcabhw->gfcab", upstream, grouped).reshape(weights.shape)
    db = dy.sum((0, 2, 3), dtype=np.float64)
    yield "ConvolutionGradient", attributes, [dy, x, weights], [dx, dw, db]
    yield "ConvolutionWeightGradient", attributes, [dy, x, weights], [dw, db]


def pooling_check(drawn: np.random.Generator) -> Iterator[Known]:
    """Max pooling and its gradient, with a preceding ReLU."""
    x = drawn.standard_normal((BATCH, CHANNELS, HEIGHT, WIDTH)).astype(np.float32)
    covered = _covered(x.astype(np.float64), -np.inf)
    shape = covered.shape
    flat = covered.reshape(*shape[:2], shape[2] * shape[3], *shape[4:])
    largest = flat.max(2)
    attributes = {**WINDOW, "relu": 1}
    yield "MaxPool", attributes, [x], [np.maximum(largest, 0)]
    dy = drawn.standard_normal(largest.shape).astype(np.float32)
    chosen = np.arange(flat.shape[2])[:, None, None] == flat.argmax(2)[:, :, None]
    slopes = np.where(chosen & (largest > 0)[:, :, None], dy[:, :, None].astype(np.float64), 0)
    yield "MaxPoolGradient", attributes, [dy, x], [_spread(slopes.reshape(shape), x.shape)]


def _covered(x: Array, border: float) -> Array:
    """Values of each window: (batch, channels, row and column in it, its row and column)."""
    widths = ((0, 0), (0, 0), (WINDOW["top"], WINDOW["bottom"]), (WINDOW["left"], WINDOW["right"]))
    wide = np.pad(x, widths, constant_values=border)
    return np.stack([wide[:, :, rows, columns] for rows, columns in _places(x.shape)], 2).reshape(
        *x.shape[:2], WINDOW["height"], WINDOW["width"], *_windows(x.shape)
    )


def _spread(slopes: Array, shape: tuple[int, ...]) -> Array:
    """The transpose of `_covered`: add each window's values to the values that it covers."""
    rows, columns = shape[2:]
    top, left = WINDOW["top"], WINDOW["left"]
    wide = np.zeros((*shape[:2], rows + top + WINDOW["bottom"], columns + left + WINDOW["right"]))
    parts = slopes.reshape(*shape[:2], -1, *slopes.shape[4:])
    for index, (down, across) in enumerate(_places(shape)):
        wide[:, :, down, across] += parts[:, :, index]
    return wide[:, :, top : top + rows, left : left + columns]


def _windows(shape: tuple[int, ...]) -> tuple[int, int]:
    """Number of windows along each axis."""
    rows = shape[2] + WINDOW["top"] + WINDOW["bottom"]
    columns = shape[3] + WINDOW["left"] + WINDOW["right"]
    height = (WINDOW["height"] - 1) * WINDOW["row_dilation"] + 1
    width = (WINDOW["width"] - 1) * WINDOW["column_dilation"] + 1
    return (
        (rows - height) // WINDOW["row_stride"] + 1,
        (columns - width) // WINDOW["column_stride"] + 1,
    )


def _places(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """For each value of a window, its positions for all windows."""
    rows, columns = _windows(shape)
    row_stride, column_stride = WINDOW["row_stride"], WINDOW["column_stride"]
    for a in range(WINDOW["height"]):
        for b in range(WINDOW["width"]):
            down, across = a * WINDOW["row_dilation"], b * WINDOW["column_dilation"]
            yield (
                slice(down, down + (rows - 1) * row_stride + 1, row_stride),
                slice(across, across + (columns - 1) * column_stride + 1, column_stride),
            )
