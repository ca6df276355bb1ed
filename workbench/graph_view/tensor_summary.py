"""Summary statistics of a tensor's values."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

BINS = 24

_CHUNK = 1 << 20
"""Elements that are read together, so that a large tensor takes little memory."""


class TensorSummary(NamedTuple):
    """Statistics of a tensor; those of values leave NaN and infinities out."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    elements: int
    zeros: int
    nan: int
    infinite: int
    minimum: float | None
    """None if there is no finite value."""
    maximum: float | None
    mean: float | None
    std: float | None
    """Standard deviation of the population."""
    histogram: tuple[int, ...]
    """Finite values in `BINS` bins of equal width from `minimum` to `maximum`; empty without."""

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "shape": list(self.shape), "histogram": list(self.histogram)}


def summarize(name: str, array: np.ndarray) -> TensorSummary:
    """Summarize a tensor of numbers or booleans, in float64 and in pieces."""
    flat = array.reshape(-1)
    pieces = [flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK)]
    zeros = nan = infinite = count = 0
    low, high = math.inf, -math.inf
    for piece in pieces:
        finite = _finite(piece)
        zeros += int(np.count_nonzero(piece == 0))
        nan += int(np.count_nonzero(np.isnan(piece))) if piece.dtype.kind == "f" else 0
        infinite += int(np.count_nonzero(np.isinf(piece))) if piece.dtype.kind == "f" else 0
        if finite.size:
            count += finite.size
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    shape = tuple(int(size) for size in array.shape)
    known = (name, shape, array.dtype.name, int(flat.size), zeros, nan, infinite)
    if not count:
        return TensorSummary(*known, None, None, None, None, ())
    # So that no sum or square of the largest numbers is infinite. A power of two rounds nothing.
    scale = 2.0 ** max(0, math.frexp(max(abs(low), abs(high)))[1] - 1)
    total = sum(float((_finite(piece) / scale).sum()) for piece in pieces)
    mean, squares = total / count, 0.0
    bins = np.zeros(BINS, np.int64)
    for piece in pieces:
        finite = _finite(piece)
        squares += float(np.square(finite / scale - mean).sum())
        bins += np.bincount(_bins_of(finite, low, high), minlength=BINS)
    deviation = math.sqrt(squares / count)
    return TensorSummary(*known, low, high, mean * scale, deviation * scale, tuple(map(int, bins)))


def _bins_of(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """The bin of each value; the middle one where all are equal."""
    half_width = high / 2 - low / 2  # the width itself may be infinite
    if half_width == 0:
        return np.full(values.shape, BINS // 2)
    shares = (values / 2 - low / 2) / half_width
    bins: np.ndarray = np.minimum((shares * BINS).astype(np.int64), BINS - 1)
    return bins


def _finite(piece: np.ndarray) -> np.ndarray:
    wide = piece.astype(np.float64)
    return wide[np.isfinite(wide)]
