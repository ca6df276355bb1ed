"""What the values of a tensor are, in a few numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

BINS = 24

_CHUNK = 1 << 20
"""Elements that are looked at together, so that a large tensor takes little memory."""


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
    """Of the population."""
    histogram: tuple[int, ...]
    """Finite values in `BINS` bins of equal width from `minimum` to `maximum`; empty without."""

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "shape": list(self.shape), "histogram": list(self.histogram)}


def summarize(name: str, array: np.ndarray) -> TensorSummary:
    """Summarize a tensor of numbers or booleans, in float64 and in pieces."""
    flat = array.reshape(-1)
    pieces = [flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK)]
    zeros = nan = infinite = count = 0
    total, low, high = 0.0, math.inf, -math.inf
    for piece in pieces:
        finite = _finite(piece)
        zeros += int(np.count_nonzero(piece == 0))
        nan += int(np.count_nonzero(np.isnan(piece))) if piece.dtype.kind == "f" else 0
        infinite += int(np.count_nonzero(np.isinf(piece))) if piece.dtype.kind == "f" else 0
        if finite.size:
            count += finite.size
            total += float(finite.sum())
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    shape = tuple(int(size) for size in array.shape)
    known = (name, shape, array.dtype.name, int(flat.size), zeros, nan, infinite)
    if not count:
        return TensorSummary(*known, None, None, None, None, ())
    mean, squares = total / count, 0.0
    bins = np.zeros(BINS, np.int64)
    edges = (low, high) if high > low else (low - 0.5, high + 0.5)
    for piece in pieces:
        finite = _finite(piece)
        squares += float(np.square(finite - mean).sum())
        bins += np.histogram(finite, BINS, edges)[0]
    deviation = math.sqrt(squares / count)
    return TensorSummary(*known, low, high, mean, deviation, tuple(map(int, bins)))


def _finite(piece: np.ndarray) -> np.ndarray:
    wide = piece.astype(np.float64)
    return wide[np.isfinite(wide)]
