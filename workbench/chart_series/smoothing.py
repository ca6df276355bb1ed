"""Smoothing of curves; extensions/widgets/src/charts/series/smoothing.ts has the same results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MIN_WINDOW = 10
WINDOW_SHARE = 0.05
"""Throughput is a mean over this share of the steps, at least `MIN_WINDOW`: a single step is not
representative, and the median over the rounds of a run, which are as long, is that of its curve."""


def smoothed(step: np.ndarray, values: np.ndarray, over_steps: float) -> np.ndarray:
    """Exponential moving average of span `over_steps`; NaN where nothing is known yet.

    Its values are on average as old as those of a plain mean over `over_steps` steps: the weight of
    a value falls by (span - 1) / (span + 1) a step, as in `pandas.DataFrame.ewm`. Early values are
    divided by the weights so far, as Adam's moments are (D. P. Kingma, J. Ba, Adam, 2015, section
    3), so that the curve does not begin at zero. Values that are not finite are ignored.

    Args:
        step: (points,) ascending.
        values: (points,) float.
        over_steps: up to 1: the values as they are.
    """
    if over_steps <= 1:
        return np.asarray(values, np.float64)
    a_step = (over_steps - 1) / (over_steps + 1)
    found = np.full(len(values), np.nan)
    total = weight = 0.0
    before = float(step[0]) if len(step) else 0.0
    for index, (at, value) in enumerate(zip(step.tolist(), values.tolist(), strict=True)):
        decay = a_step ** max(at - before, 0.0) if index else 0.0
        if np.isfinite(value):
            gain = 1.0 - decay if index else 1.0 - a_step
            total = decay * total + gain * value
            weight = decay * weight + gain
            before = at
        if weight > 0:
            found[index] = total / weight
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
