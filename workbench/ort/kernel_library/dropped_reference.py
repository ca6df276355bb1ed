"""What the kernel of attention drops, in NumPy, for the check of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_STRIP, _COUNTERS = 64, 8
"""Columns that eight counters are for: one for each of the two halves of four words."""
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: tuple[Array, ...], key: tuple[int, int], rounds: int = 7) -> tuple[Array, ...]:
    """Four words of 32 bits, as uint64, of Philox4x32.

    Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

    Args:
        counter: four words of 32 bits, as uint64.
        key: two words of 32 bits.
        rounds: 7, of the kernel, or 10.
    """
    first, second, third, fourth = counter
    one, other = map(np.uint64, key)
    for _ in range(rounds):
        left, right = first * np.uint64(0xD2511F53), third * np.uint64(0xCD9E8D57)
        first, second = (right >> _HALF) ^ second ^ one, right & _LOW
        third, fourth = (left >> _HALF) ^ fourth ^ other, left & _LOW
        one, other = (one + np.uint64(0x9E3779B9)) & _LOW, (other + np.uint64(0xBB67AE85)) & _LOW
    return first, second, third, fourth


def dropped_factors(
    share: float, seed: int, stream: int, shape: tuple[int, int, int]
) -> tuple[Array, float]:
    """Which numbers stay, of so many matrices, rows and columns, and what these are multiplied by.

    Args:
        share: what is dropped, from 0 to below 1; it is rounded to a multiple of 2^-16.
        seed: of the step; an int64.
        stream: number of the node in its graph.
        shape: matrices, rows, columns.
    """
    matrices, rows, columns = shape
    strips = -(-columns // _STRIP)
    counters = np.arange(strips * _COUNTERS, dtype=np.uint64)
    matrix, row, first = np.meshgrid(
        *(np.arange(size, dtype=np.uint64) for size in (matrices, rows)), counters, indexing="ij"
    )
    words = philox(
        (first, row, matrix, np.full_like(first, stream)),
        (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF),
    )
    halves = [half for word in words for half in (word & np.uint64(0xFFFF), word >> np.uint64(16))]
    # Of each strip, the same half of all counters is side by side.
    parts = [half.reshape(matrices, rows, strips, _COUNTERS) for half in halves]
    bits = np.stack(parts, axis=3).reshape(matrices, rows, strips * _STRIP)[..., :columns]
    limit = min(int(share * 65536 + 0.5), 65535)
    return bits >= limit, 65536 / (65536 - limit)
