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


VARIES = 2.0
"""Quotient of the 90th and 10th percentile of an engine's rounds above which it is mentioned."""


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
    """Number of rounds that the ratio is computed from; without a ratio, the throughput."""


def speeds_of(
    rounds: Mapping[str, np.ndarray], reference: str, baseline: np.ndarray | None = None
) -> dict[str, Speed]:
    """Throughput and ratio of each engine.

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
    scale = _median(base) if len(base) else 1.0
    found = {}
    for engine, own in rounds.items():
        relative = _relative(own, base)
        its_ratio = ratio(own, reference_rounds, base)
        common = len(_relative(reference_rounds, base)) if len(reference_rounds) else len(relative)
        found[engine] = Speed(_median(relative) * scale, its_ratio, min(len(relative), common))
    return found


def ratio(engine: np.ndarray, reference: np.ndarray, baseline: np.ndarray | None = None) -> Ratio:
    """Ratio of the throughputs of two engines, with a percentile bootstrap interval.

    It is the median over rounds of the ratio of throughputs; with another baseline the quotient of
    the medians of both engines' ratios to that.

    The percentile bootstrap of the median: B. Efron, R. J. Tibshirani, An Introduction to the
    Bootstrap, 1993, chapter 13. Rounds are resampled, of both engines the same. The resampling is
    seeded, so the result is deterministic.

    Args:
        engine: (rounds,) throughput of the engine in each round.
        reference: (rounds,) throughput of the reference in the same rounds.
        baseline: (rounds,) those of the engine that both are measured against, empty where it has
            none; None: the reference.

    Returns:
        NaN without rounds; with fewer than `MIN_ROUNDS` the median, and NaN for the interval.
    """
    base = reference if baseline is None else baseline
    own = _relative(engine, base)
    is_base = base is reference  # whose ratio to itself is 1 in each round
    against = np.ones(len(own)) if is_base else _relative(reference, base)
    if len(own) == 0 or len(reference) == 0:
        return Ratio(float("nan"), float("nan"), float("nan"))
    median = _median(own) / _median(against)
    if min(len(own), len(against)) < MIN_ROUNDS:
        return Ratio(median, float("nan"), float("nan"))
    count = max(len(own), len(against))
    drawn = np.random.default_rng(0).choice(count, size=(RESAMPLES, count))
    quotients = _medians(own, drawn) / (1.0 if is_base else _medians(against, drawn))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.nanpercentile(quotients, [tail, 100 - tail])
    return Ratio(median, float(low), float(high))


def variation(rounds: np.ndarray) -> float:
    """How far the throughput of an engine varied: the 90th percentile of its rounds by the 10th.

    Args:
        rounds: (rounds,) samples per second.

    Returns:
        NaN with fewer than `MIN_ROUNDS`.
    """
    if len(rounds) < MIN_ROUNDS:
        return float("nan")
    low, high = np.percentile(rounds, [10, 90])
    return float(high / low)


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


def _relative(own: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Throughputs divided by those of the baseline in the same rounds, if it has any."""
    count = min(len(own), len(base)) if len(base) else len(own)
    return own[:count] / base[:count] if len(base) else own


def _medians(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The median of each row of drawn rounds; those that there are no values of are left out.

    Args:
        values: (rounds,) of an engine, which may have ended before the others.
        drawn: (resamples, rounds) indices.

    Returns:
        (resamples,) NaN where there is no value.
    """
    if len(values) > drawn.max():
        return np.asarray(np.median(values[drawn], axis=1))
    padded = np.full(drawn.max() + 1, np.nan)
    padded[: len(values)] = values
    ordered = np.sort(padded[drawn], axis=1)  # NaN last
    known = np.isfinite(ordered).sum(axis=1, keepdims=True)
    middle = [np.maximum(known - 1, 0) // 2, known // 2]
    below, above = (np.take_along_axis(ordered, index, axis=1)[:, 0] for index in middle)
    return np.asarray((below + above) / 2)


def _median(rounds: np.ndarray) -> float:
    return float(np.median(rounds)) if len(rounds) else float("nan")
