"""Throughputs and ratios of engines that ran in lockstep, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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


def speeds_of(
    rounds: Mapping[str, np.ndarray], reference: str, baseline: np.ndarray | None = None
) -> dict[str, Speed]:
    """Throughput and ratio of each engine, from the same rounds.

    The baseline's throughput is the median over its rounds. That of another engine is this, times
    the median, over the rounds of both, of the engine's throughput divided by the baseline's. The
    ratio is the quotient of two such throughputs, so throughputs and ratios are always consistent,
    also with those of other parts of the same comparison. Independent medians could rank engines
    differently if the machine slows down in between.

    Without rounds of the baseline the throughputs are the medians over the engines' own rounds;
    without rounds of the reference the ratios are NaN.

    Args:
        rounds: (rounds,) throughput of each engine in each of its rounds.
        reference: the engine that the others are compared with.
        baseline: (rounds,) those of the engine that all are measured against; None: the reference.
    """
    reference_rounds = rounds.get(reference, np.empty(0))
    base = reference_rounds if baseline is None else baseline
    found = {}
    for engine, own in rounds.items():
        against = base if len(base) else np.ones(len(own))
        count = min(len(own), len(against))
        throughput = _median(own[:count] / against[:count]) * (_median(base) if len(base) else 1)
        found[engine] = Speed(throughput, ratio(own, reference_rounds, base), count)
    return found


def ratio(engine: np.ndarray, reference: np.ndarray, baseline: np.ndarray | None = None) -> Ratio:
    """Ratio of the throughputs of two engines, with a percentile bootstrap interval.

    It is the median over rounds of the ratio of throughputs; with another baseline the quotient of
    the medians of both engines' ratios to that.

    The percentile bootstrap of the median: B. Efron, R. J. Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13. The resampling is seeded, so the result is deterministic.

    Args:
        engine: (rounds,) throughput of the engine in each round.
        reference: (rounds,) throughput of the reference in the same rounds.
        baseline: (rounds,) those of the engine that both are measured against, empty where it has
            none; None: the reference.

    Returns:
        NaN without rounds; with fewer than `MIN_ROUNDS` the median, and NaN for the interval.
    """
    base = reference if baseline is None else baseline
    if len(base) == 0:
        base = np.ones(len(reference))
    rounds = min(len(engine), len(reference), len(base))
    if rounds == 0:
        return Ratio(float("nan"), float("nan"), float("nan"))
    both = np.stack([engine[:rounds], reference[:rounds]]) / base[:rounds]
    median = _quotient(both)
    if rounds < MIN_ROUNDS:
        return Ratio(float(median), float("nan"), float("nan"))
    resampled = np.random.default_rng(0).choice(both, size=(RESAMPLES, rounds), axis=1)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(_quotient(resampled), [tail, 100 - tail])
    return Ratio(float(median), float(low), float(high))


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


def _quotient(both: np.ndarray) -> Any:
    """Median over the last axis of the first of two, divided by that of the second."""
    engine, reference = np.median(both, axis=-1)
    return engine / reference


def _median(rounds: np.ndarray) -> float:
    return float(np.median(rounds)) if len(rounds) else float("nan")
