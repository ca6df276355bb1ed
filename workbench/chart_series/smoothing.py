"""Smoothing of curves; extensions/widgets/src/charts/series/smoothing.ts has the same results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MIN_WINDOW = 10
WINDOW_SHARE = 0.05
"""Throughput is a mean over this share of the steps, at least `MIN_WINDOW`: a single step is not
representative, and the median over the rounds of a run, which are as long, is that of its curve."""


def smoothed(step: np.ndarray, values: np.ndarray, over_steps: float) -> np.ndarray:
    """Mean of the last `over_steps` steps up to each point; NaN where none of them is finite.

    A point stands for the steps since the one before it. Values that are not finite are passed
    over. Each mean is a sum of its own: a loss that leapt has no part in later ones.

    Args:
        step: (points,) ascending.
        values: (points,) float.
        over_steps: up to 1: the values as they are.
    """
    if over_steps <= 1:
        return np.asarray(values, np.float64)
    finite = np.isfinite(values)
    lengths = np.where(finite, np.diff(step, prepend=2 * step[:1] - step[1:2]), 0.0)
    if len(step) == 1:
        lengths = finite.astype(np.float64)
    weighted = lengths * np.where(finite, values, 0.0)
    first = np.searchsorted(step, step - over_steps, "right")
    found = np.full(len(values), np.nan)
    for index, start in enumerate(first.tolist()):
        weight = lengths[start : index + 1].sum()
        if weight > 0:
            found[index] = weighted[start : index + 1].sum() / weight
    return found


def rate_window(steps: int, smoothing: float = 0.0) -> int:
    """Steps over which throughput is averaged for a run of `steps` steps so far."""
    return max(MIN_WINDOW, round(WINDOW_SHARE * steps), round(smoothing))


class WarmUp(NamedTuple):
    """The first steps of a run, which the throughput of later ones leaves out."""

    steps: int = 0
    seconds: float = 0.0
    """Of these steps together."""
    samples: float = 0.0
    """In these steps together."""


NO_WARM_UP = WarmUp()


def trailing_rate(
    step: np.ndarray,
    seconds: np.ndarray,
    samples: np.ndarray,
    window: int,
    warm_up: WarmUp = NO_WARM_UP,
) -> np.ndarray:
    """Samples per second over the last `window` steps up to each point.

    Args:
        step: (points,) ascending.
        seconds: (points,) total at each point.
        samples: (points,) total at each point.
        window: in steps; where points are further apart, since the point before.
        warm_up: no part of the rate of later steps; within it the rate is that from the beginning.

    Returns:
        (points,); NaN where no time has passed.
    """
    if len(step) == 0:
        return np.empty(0)
    before = np.searchsorted(step, step - window, "right") - 1
    before = np.minimum(before, np.arange(len(step)) - 1)
    start_s = np.where(before < 0, 0.0, seconds[before])
    start = np.where(before < 0, 0.0, samples[before])
    # The points may be means over many steps, of which none ends with the warm-up.
    within = (step > warm_up.steps) & (start_s < warm_up.seconds)
    start_s = np.where(within, warm_up.seconds, start_s)
    start = np.where(within, warm_up.samples, start)
    elapsed = seconds - start_s
    rate = np.full(len(step), np.nan)
    np.divide(samples - start, elapsed, out=rate, where=elapsed > 0)
    return rate
