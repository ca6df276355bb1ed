"""Throughputs and ratios of engines that ran in lockstep, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
MIN_ROUNDS = 6
"""Fewest rounds for an interval: the range of five values covers the true median with less than
95 % confidence, as all five are on the same side of it with probability 1/16."""


class Ratio(NamedTuple):
    """A ratio of throughputs with its confidence interval; NaN if there is none."""

    median: float
    low: float
    high: float


class Speed(NamedTuple):
    """Throughput of an engine; NaN if nothing was measured."""

    samples_per_s: float
    ratio: Ratio
    rounds: int
    """Number of rounds that both values are computed from."""


def speeds_of(rounds: Mapping[str, np.ndarray], reference: str) -> dict[str, Speed]:
    """Throughput and ratio of each engine, from the same rounds.

    The reference's throughput is the median over its rounds. The ratio of another engine is the
    median, over the rounds of both, of its throughput divided by the reference's. Its throughput is
    that ratio times the reference's, so throughputs and ratios are always consistent. Independent
    medians could rank engines differently if the machine slows down in between.

    Without rounds of the reference the ratio is NaN, and the throughput is the median over the
    engine's own rounds.

    Args:
        rounds: (rounds,) throughput of each engine in each of its rounds.
        reference: the engine that the others are compared with.
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
    Bootstrap, 1993, chapter 13. The resampling is seeded, so the result is deterministic.

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
    """Why ratios or intervals are missing, in a sentence; empty if none are."""
    if engines == 1:
        return "There is no ratio, as there is only one engine."
    ratios = [speed.ratio for speed in found.values()]
    if any(np.isfinite(each.median) and np.isnan(each.low) for each in ratios):
        return (
            f"There are too few rounds for a confidence interval; at least {MIN_ROUNDS} are needed."
        )
    return ""


def largest_difference(losses: np.ndarray, reference: np.ndarray) -> float:
    """Largest absolute difference between losses of the same steps; NaN if there are none."""
    steps = min(len(losses), len(reference))
    if steps == 0:
        return float("nan")
    return float(np.max(np.abs(losses[:steps] - reference[:steps])))


def _median(rounds: np.ndarray) -> float:
    return float(np.median(rounds)) if len(rounds) else float("nan")
