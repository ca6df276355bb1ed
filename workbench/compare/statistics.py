"""Throughputs and ratios of engines that ran in lock step, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
MIN_ROUNDS = 6
"""Rounds below which there is no interval: no two of five values hold the true median between them
with 95 % confidence, as all of five lie on one side of it in one case of sixteen."""


class Ratio(NamedTuple):
    """A ratio of throughputs with its confidence interval; NaN where there is none."""

    median: float
    low: float
    high: float


class Speed(NamedTuple):
    """How fast an engine was; NaN where nothing was measured."""

    samples_per_s: float
    ratio: Ratio
    rounds: int
    """Rounds that both figures are from."""


def rounds_of(seconds: np.ndarray, samples: np.ndarray, warmup: int, burst: int) -> np.ndarray:
    """Throughput of each whole round, in samples per second.

    Args:
        seconds: (steps,) duration of each step.
        samples: (steps,) samples in each step.
        warmup: first steps, which belong to no round.
        burst: steps in a round.

    Returns:
        (rounds,) float64.
    """
    rounds = max(0, (len(seconds) - warmup) // burst)
    shape = (rounds, burst)
    stop = warmup + rounds * burst
    return np.asarray(
        samples[warmup:stop].reshape(shape).sum(axis=1)
        / seconds[warmup:stop].reshape(shape).sum(axis=1)
    )


def speeds(rounds: Mapping[str, np.ndarray], reference: str) -> dict[str, Speed]:
    """Throughput and ratio of each engine, from the same rounds.

    The reference's throughput is the median over its rounds. The ratio of another engine is the
    median over the rounds that both took of its throughput over the reference's, and its throughput
    is that ratio times the reference's: what it reaches while the reference runs at its median.
    So the quotient of two throughputs is the ratio, and they never rank engines differently, as two
    medians (or a median and a mean) would once a machine slows down or hiccups in the middle.

    Without rounds of the reference there is no ratio, and a throughput is the median over an
    engine's own rounds.

    Args:
        rounds: (rounds,) throughput of each engine in each of its rounds.
        reference: the engine that the others are measured against.
    """
    found = {}
    reference_rounds = rounds.get(reference, np.empty(0))
    for engine, own in rounds.items():
        if len(reference_rounds) == 0:
            found[engine] = Speed(_median(own), ratio(own, reference_rounds), len(own))
            continue
        its_ratio = ratio(own, reference_rounds)
        throughput = its_ratio.median * _median(reference_rounds)
        found[engine] = Speed(throughput, its_ratio, min(len(own), len(reference_rounds)))
    return found


def ratio(engine: np.ndarray, reference: np.ndarray) -> Ratio:
    """Median over rounds of the ratio of throughputs, with a percentile bootstrap interval.

    The percentile bootstrap of the median: B. Efron, R. J. Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13. The resampling is seeded, so the same rounds give the same figures.

    Args:
        engine: (rounds,) throughput of the engine in each round.
        reference: (rounds,) throughput of the reference in the same rounds.

    Returns:
        NaN without rounds; with fewer than `MIN_ROUNDS` the median, and NaN for the interval.
    """
    rounds = min(len(engine), len(reference))
    if rounds == 0:
        return Ratio(float("nan"), float("nan"), float("nan"))
    ratios = engine[:rounds] / reference[:rounds]
    if rounds < MIN_ROUNDS:
        return Ratio(float(np.median(ratios)), float("nan"), float("nan"))
    resampled = np.random.default_rng(0).choice(ratios, size=(RESAMPLES, rounds))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(np.median(resampled, axis=1), [tail, 100 - tail])
    return Ratio(float(np.median(ratios)), float(low), float(high))


def ratio_note(found: Mapping[str, Speed], engines: int) -> str:
    """What a comparison of so many engines lacks in ratios and why, in a sentence; else empty."""
    if engines == 1:
        return "One engine: there is nothing to compare it with."
    ratios = [speed.ratio for speed in found.values()]
    if any(np.isfinite(each.median) and np.isnan(each.low) for each in ratios):
        return f"Too few rounds for an interval: it takes {MIN_ROUNDS}."
    return ""


def largest_difference(losses: np.ndarray, reference: np.ndarray) -> float:
    """Largest absolute difference between losses of the same steps; NaN when there are none."""
    steps = min(len(losses), len(reference))
    if steps == 0:
        return float("nan")
    return float(np.max(np.abs(losses[:steps] - reference[:steps])))


def _median(rounds: np.ndarray) -> float:
    return float(np.median(rounds)) if len(rounds) else float("nan")
