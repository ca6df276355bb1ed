"""Pooling, where the divisor of ONNX or ONNX Runtime differs from PyTorch's or there is no
operator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from workbench.errors import ModelError
from workbench.export.translations.nodes import Value, op


def pooling_translations() -> dict[Any, Callable[..., Any]]:
    """The part of `translations` that is about pooling."""
    import torch

    aten = torch.ops.aten
    return {
        aten.avg_pool1d.default: _average_pool(1),
        aten.avg_pool2d.default: _average_pool(2),
        aten.avg_pool3d.default: _average_pool(3),
        aten.adaptive_max_pool1d.default: _adaptive_max_pool,
        aten.adaptive_max_pool2d.default: _adaptive_max_pool,
        aten.adaptive_max_pool3d.default: _adaptive_max_pool,
    }


def _average_pool(rank: int) -> Callable[..., Value]:
    def average_pool(
        self: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        kernel = _each_axis(kernel_size, rank)
        strides = _each_axis(stride, rank) if stride else kernel
        pads = _each_axis(padding, rank)
        value = _with_batch(self, rank)
        if ceil_mode or divisor_override:
            sizes = _sizes(self, rank)
            means, ratios = _means(
                value, sizes, kernel, strides, pads, ceil_mode, count_include_pad, divisor_override
            )
            constant = ir.tensor(ratios.astype(self.dtype.numpy()))
            made = op.Mul(means, op.Constant(value=constant))
        else:
            made = op.AveragePool(
                value,
                kernel_shape=kernel,
                strides=strides,
                pads=pads * 2,
                count_include_pad=int(count_include_pad),
            )
        return made if value is self else op.Squeeze(made, [0])

    return average_pool


def _means(
    value: Value,
    sizes: list[int],
    kernel: list[int],
    strides: list[int],
    pads: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> tuple[Value, np.ndarray]:
    """The means of windows over zeros that are written out, and what each is to be multiplied by.

    For a window that reaches beyond the padding, PyTorch counts the entries up to its end, and ONNX
    Runtime the whole window; ONNX has no custom divisor.
    """
    found = [
        _windows_along(*each, ceil_mode, count_include_pad)
        for each in zip(sizes, kernel, strides, pads, strict=True)
    ]
    outputs = [len(each.counts) for each in found]
    divisors = (
        np.full(outputs, divisor) if divisor else math.prod(np.ix_(*(w.counts for w in found)))
    )
    kernel = [each.width for each in found]
    ratios = math.prod(kernel) / np.asarray(divisors)
    padded = op.Pad(value, [0, 0, *pads, 0, 0, *(each.end for each in found)])
    means = op.AveragePool(padded, kernel_shape=kernel, strides=[each.step for each in found])
    return means, ratios


class _PooledWindows(NamedTuple):
    """The windows of a pooling along one axis."""

    width: int
    step: int
    end: int
    """Zeros to write out after the axis."""
    counts: np.ndarray
    """Number of entries of each window's mean."""


def _windows_along(
    size: int, width: int, step: int, pad: int, ceil_mode: bool, count_include_pad: bool
) -> _PooledWindows:
    rest = size + 2 * pad - width
    outputs = (-(-rest // step) if ceil_mode else rest // step) + 1
    if (outputs - 1) * step >= size + pad:
        outputs -= 1  # no window begins after the padding
    if width > size + 2 * pad:
        # Used to pool to one pixel, by a window far larger than the image.
        width = step = size + 2 * pad
    starts = np.arange(outputs) * step - pad
    if count_include_pad:
        counts = np.minimum(starts + width, size + pad) - starts
    else:
        counts = np.minimum(starts + width, size) - np.maximum(starts, 0)
    return _PooledWindows(width, step, max(0, (outputs - 1) * step + width - size - pad), counts)


def _adaptive_max_pool(self: Value, output_size: Sequence[int]) -> tuple[Value, Value]:
    """The largest of each window, of which PyTorch's overlap where the sizes do not divide."""
    rank = len(output_size)
    value = _with_batch(self, rank)
    sizes = _sizes(self, rank)
    plain = value
    for axis, (size, output) in enumerate(zip(sizes, output_size, strict=True)):
        # Axis 2 + 2 * axis: those before it are two each by now, windows and places in them.
        value = op.Gather(value, _places(size, output), axis=2 + 2 * axis)
    windows = [2 + 2 * axis for axis in range(rank)]
    value = op.Transpose(value, perm=[0, 1, *windows, *(axis + 1 for axis in windows)])
    value = op.Reshape(value, [0, 0, *output_size, -1])
    last = rank + 2
    chosen = op.ArgMax(_with_nan_above(value, self.dtype.numpy()), axis=last, keepdims=1)
    if all(size % output == 0 for size, output in zip(sizes, output_size, strict=True)):
        kernel = [size // output for size, output in zip(sizes, output_size, strict=True)]
        largest = op.MaxPool(plain, kernel_shape=kernel, strides=kernel)
        # Its second result would number the elements of the whole batch.
        largest = largest[0] if isinstance(largest, tuple) else largest
    else:
        largest = op.Squeeze(op.GatherElements(value, chosen, axis=last), [last])
    place = op.Expand(op.Constant(value=ir.tensor(_numbers(sizes, output_size))), op.Shape(value))
    places = op.Squeeze(op.GatherElements(place, chosen, axis=last), [last])
    if self.shape.rank() == rank + 1:
        return op.Squeeze(largest, [0]), op.Squeeze(places, [0])
    return largest, places


def _with_nan_above(value: Value, dtype: np.dtype[Any]) -> Value:
    """Values of the same order, NaN the largest, which ONNX Runtime's ArgMax skips."""
    infinity = np.array(np.inf, dtype)
    highest = op.Constant(value=ir.tensor(np.nextafter(infinity, np.zeros((), dtype))))
    above = op.Constant(value=ir.tensor(infinity))
    return op.Where(op.IsNaN(value), above, op.Min(value, highest))


def _windows(size: int, output: int) -> np.ndarray:
    """For each window the places in it; the last ones repeat the first where it is narrower."""
    starts = [place * size // output for place in range(output)]
    ends = [-(-(place + 1) * size // output) for place in range(output)]
    widest = max(end - start for start, end in zip(starts, ends, strict=True))
    return np.array(
        [
            [start + step if start + step < end else start for step in range(widest)]
            for start, end in zip(starts, ends, strict=True)
        ],
        np.int64,
    )


def _places(size: int, output: int) -> Value:
    return op.Constant(value=ir.tensor(_windows(size, output)))


def _numbers(sizes: Sequence[int], outputs: Sequence[int]) -> np.ndarray:
    """Index in the flattened input of each place in each window: (*outputs, places)."""
    axes = [_windows(size, output) for size, output in zip(sizes, outputs, strict=True)]
    found = np.zeros([*outputs, math.prod(axis.shape[1] for axis in axes)], np.int64)
    for window in itertools.product(*map(range, outputs)):
        reached = (axis[place] for axis, place in zip(axes, window, strict=True))
        found[window] = np.ravel_multi_index(np.ix_(*reached), tuple(sizes)).ravel()
    return found[None, None]


def _each_axis(given: Sequence[int], rank: int) -> list[int]:
    return list(given) * rank if len(given) == 1 else list(given)


def _with_batch(value: Value, rank: int) -> Value:
    return op.Unsqueeze(value, [0]) if value.shape.rank() == rank + 1 else value


def _sizes(value: Value, rank: int) -> list[int]:
    """Those of the last `rank` axes.

    Raises:
        ModelError: one is dynamic.
    """
    sizes = list(value.shape)[-rank:]
    if not all(isinstance(size, int) for size in sizes):
        raise ModelError(
            f"pooling by windows of unequal sizes needs a fixed height and width, and not {sizes}."
        )
    return sizes
