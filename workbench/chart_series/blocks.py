"""Steps of a run gathered in blocks of equal length: the smallest and largest loss, and totals."""

from __future__ import annotations

import numpy as np

COLUMNS = (
    "step",
    "seconds",
    "samples",
    "loss_min",
    "loss_max",
    "loss_mean",
    "loss",
    "memory_mb",
    "not_finite",
)
"""Columns of a block: its last step; seconds of training and samples up to and including that; the
smallest, largest and mean finite loss (NaN if there is none); the loss of the last step; the
largest resident set in 10^6 bytes; how many losses are not finite."""

STEP, SECONDS, SAMPLES, LOW, HIGH, MEAN, LAST, MEMORY, BAD = range(len(COLUMNS))
COUNT = len(COLUMNS)
"""Row of the number of steps of a block, which is kept beside `COLUMNS` and never sent."""

Blocks = np.ndarray
"""(10, blocks) float64: `COLUMNS` and the number of steps."""


def blocks_of(
    step: np.ndarray,
    seconds: np.ndarray,
    samples: np.ndarray,
    loss: np.ndarray,
    memory_mb: np.ndarray,
) -> Blocks:
    """One block per step, from arrays of shape (steps,); `seconds` and `samples` are totals."""
    finite = np.isfinite(loss)
    known = np.where(finite, loss, np.nan)
    found = np.empty((COUNT + 1, len(step)))
    found[STEP], found[SECONDS], found[SAMPLES] = step, seconds, samples
    found[LOW] = found[HIGH] = found[MEAN] = known
    found[LAST], found[MEMORY] = loss, memory_mb
    found[BAD] = ~finite
    found[COUNT] = 1
    return found


def merged(blocks: Blocks, factor: int) -> Blocks:
    """Each `factor` blocks in a row as one; the last may be of fewer."""
    if factor == 1 or blocks.shape[1] == 0:
        return blocks
    starts = np.arange(0, blocks.shape[1], factor)
    ends = np.minimum(starts + factor, blocks.shape[1]) - 1
    found = np.empty((COUNT + 1, len(starts)))
    for row in (STEP, SECONDS, SAMPLES, LAST):
        found[row] = blocks[row, ends]
    # fmin and fmax ignore NaN, which marks a loss that is not finite.
    found[LOW] = np.fmin.reduceat(blocks[LOW], starts)
    found[HIGH] = np.fmax.reduceat(blocks[HIGH], starts)
    found[MEMORY] = np.fmax.reduceat(blocks[MEMORY], starts)
    found[BAD] = np.add.reduceat(blocks[BAD], starts)
    found[COUNT] = np.add.reduceat(blocks[COUNT], starts)
    finite = blocks[COUNT] - blocks[BAD]
    totals = np.add.reduceat(np.where(finite > 0, blocks[MEAN], 0.0) * finite, starts)
    counts = np.add.reduceat(finite, starts)
    found[MEAN] = np.divide(totals, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    return found
