"""Reference results for the kernels of convolution and max pooling, by NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Known = tuple[str, dict[str, Any], list[Array], list[Array]]
"""Operator, attributes, inputs and outputs."""
Window = Mapping[str, int]

BATCH, CHANNELS, FILTERS, HEIGHT, WIDTH = 9, 6, 42, 13, 10
GROUPS = 2

WINDOW = {
    **{"height": 3, "width": 2, "row_stride": 2, "column_stride": 1, "row_dilation": 1},
    **{"column_dilation": 2, "top": 1, "bottom": 2, "left": 0, "right": 1},
}
"""Attributes of every kind: no two of an axis alike."""

PAIRS = {
    **{"height": 2, "width": 2, "row_stride": 2, "column_stride": 2, "row_dilation": 1},
    **{"column_dilation": 1, "top": 0, "bottom": 0, "left": 0, "right": 0},
}
"""Windows of max pooling that the kernels compute in a way of their own."""


def convolution_check(drawn: np.random.Generator) -> Iterator[Known]:
    """Each kernel of a convolution once."""

    def normal(*shape: int) -> Array:
        return drawn.standard_normal(shape).astype(np.float32)

    x, bias = normal(BATCH, CHANNELS, HEIGHT, WIDTH), normal(FILTERS)
    weights = normal(FILTERS, CHANNELS // GROUPS, WINDOW["height"], WINDOW["width"])
    covered = _covered(x.astype(np.float64), 0.0, WINDOW)
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
    dx = _spread(slopes, x.shape, WINDOW)
    dw = np.einsum("ngfhw,ngcabhw->gfcab", upstream, grouped).reshape(weights.shape)
    db = dy.sum((0, 2, 3), dtype=np.float64)
    yield "ConvolutionGradient", attributes, [dy, x, weights], [dx, dw, db]
    yield "ConvolutionWeightGradient", attributes, [dy, x, weights], [dw, db]


def pooling_check(drawn: np.random.Generator) -> Iterator[Known]:
    """Max pooling and its gradient, with a preceding ReLU, by windows of two kinds."""
    for window in (WINDOW, PAIRS):
        yield from _pooling_of(drawn, window)


def _pooling_of(drawn: np.random.Generator, window: Window) -> Iterator[Known]:
    # Rounded, so that windows have several largest values, of which the first counts, and zeros.
    x = np.round(drawn.standard_normal((BATCH, CHANNELS, HEIGHT, WIDTH)) * 2).astype(np.float32)
    covered = _covered(x.astype(np.float64), -np.inf, window)
    shape = covered.shape
    flat = covered.reshape(*shape[:2], shape[2] * shape[3], *shape[4:])
    largest = flat.max(2)
    attributes = {**window, "relu": 1}
    yield "MaxPool", attributes, [x], [np.maximum(largest, 0)]
    dy = drawn.standard_normal(largest.shape).astype(np.float32)
    chosen = np.arange(flat.shape[2])[:, None, None] == flat.argmax(2)[:, :, None]
    slopes = np.where(chosen & (largest > 0)[:, :, None], dy[:, :, None].astype(np.float64), 0)
    yield "MaxPoolGradient", attributes, [dy, x], [_spread(slopes.reshape(shape), x.shape, window)]


def _covered(x: Array, border: float, window: Window) -> Array:
    """Values of each window: (batch, channels, row and column in it, its row and column)."""
    widths = ((0, 0), (0, 0), (window["top"], window["bottom"]), (window["left"], window["right"]))
    wide = np.pad(x, widths, constant_values=border)
    return np.stack(
        [wide[:, :, rows, columns] for rows, columns in _places(x.shape, window)], 2
    ).reshape(*x.shape[:2], window["height"], window["width"], *_windows(x.shape, window))


def _spread(slopes: Array, shape: tuple[int, ...], window: Window) -> Array:
    """The transpose of `_covered`: add each window's values to the values that it covers."""
    rows, columns = shape[2:]
    top, left = window["top"], window["left"]
    wide = np.zeros((*shape[:2], rows + top + window["bottom"], columns + left + window["right"]))
    parts = slopes.reshape(*shape[:2], -1, *slopes.shape[4:])
    for index, (down, across) in enumerate(_places(shape, window)):
        wide[:, :, down, across] += parts[:, :, index]
    return wide[:, :, top : top + rows, left : left + columns]


def _windows(shape: tuple[int, ...], window: Window) -> tuple[int, int]:
    """Number of windows along each axis."""
    rows = shape[2] + window["top"] + window["bottom"]
    columns = shape[3] + window["left"] + window["right"]
    height = (window["height"] - 1) * window["row_dilation"] + 1
    width = (window["width"] - 1) * window["column_dilation"] + 1
    return (
        (rows - height) // window["row_stride"] + 1,
        (columns - width) // window["column_stride"] + 1,
    )


def _places(shape: tuple[int, ...], window: Window) -> Iterator[tuple[slice, slice]]:
    """For each value of a window, its positions for all windows."""
    rows, columns = _windows(shape, window)
    row_stride, column_stride = window["row_stride"], window["column_stride"]
    for a in range(window["height"]):
        for b in range(window["width"]):
            down, across = a * window["row_dilation"], b * window["column_dilation"]
            yield (
                slice(down, down + (rows - 1) * row_stride + 1, row_stride),
                slice(across, across + (columns - 1) * column_stride + 1, column_stride),
            )
