"""Throughput of a run: the median over its rounds.

A round is a number of consecutive steps. A median leaves out what disturbed a few of them, which a
mean would not. The engines of a comparison take turns of one round.
"""

from __future__ import annotations

import math

import numpy as np

from workbench.run_folder.run_reader import NewPoints

ROUNDS = 20
"""Target number of rounds: enough for a confidence interval, few enough for long ones."""
LEAST_STEPS = 10
"""Fewest steps in a round of a run that is not compared: as in the charts, a stall of every few
steps belongs to its throughput."""


def round_length(steps: int, warmup_steps: int) -> int:
    """Steps in a round, where `steps` are taken of which the first `warmup_steps` do not count."""
    return max(1, (steps - warmup_steps) // ROUNDS)


def rounds_of(
    seconds: np.ndarray, samples: np.ndarray, warmup_steps: int, length: int
) -> np.ndarray:
    """Throughput of each complete round, in samples per second.

    Args:
        seconds: (steps,) duration of each step.
        samples: (steps,) samples in each step.
        warmup_steps: number of steps before the first round.
        length: steps in a round.

    Returns:
        (rounds,) float64.
    """
    rounds = max(0, (len(seconds) - warmup_steps) // length)
    shape = (rounds, length)
    stop = warmup_steps + rounds * length
    return np.asarray(
        samples[warmup_steps:stop].reshape(shape).sum(axis=1)
        / seconds[warmup_steps:stop].reshape(shape).sum(axis=1)
    )


def throughput(points: NewPoints, warmup_steps: int) -> float:
    """Median of the rounds of a run, in samples per second; NaN within its warm-up.

    Before its first round is complete, the mean over the steps after the warm-up.

    Args:
        points: all its steps so far.
        warmup_steps: first steps that do not count.
    """
    measured = points.step > warmup_steps
    seconds, samples = points.seconds[measured], points.samples[measured]
    length = max(LEAST_STEPS, round_length(len(seconds), 0))
    rounds = rounds_of(seconds, samples, 0, length)
    if len(rounds):
        return float(np.median(rounds))
    return float(samples.sum() / seconds.sum()) if len(seconds) else math.nan
