"""Interpretation of the ratios of a comparison, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from workbench.compare.rounds.statistics import VARIES, Ratio
from workbench.display.number_format import significant
from workbench.machine.load import Load

Level = Literal["quiet", "busy", "unknown", "unpaired", "none"]
"""How far the ratios can be trusted: `quiet`: the machine had no other load; `busy`: it had;
`unknown`: the load was not measured; `unpaired`: the runs were not measured in lockstep; `none`:
there is no ratio."""

NO_RATIO = "no ratio"

BADGES: dict[Level, str] = {
    "quiet": "machine was quiet",
    "busy": "machine was busy",
    "unknown": "load not known",
    "unpaired": "not in lockstep",
    "none": NO_RATIO,
}

CAVEATS: dict[Level, str] = {
    "busy": "Do not trust: ",
    "unknown": "Load not known: ",
    "unpaired": "≈ ",
}

NEAR = 0.1
"""Ratios as close to 1 as this are written with three digits, others with two."""


class Verdict(NamedTuple):
    """The result of a comparison, in words."""

    sentence: str
    badge: str
    """A few words on how far the ratios can be trusted."""
    level: Level
    line: int = 0
    """Index of the line of the sentence that badge and level are about; those before are of what
    does not depend on the machine."""


def verdict_of(
    ratios: Mapping[str, Ratio],
    reference: str,
    load: Load | None,
    engines: int,
    variations: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on engines that were measured in lockstep.

    Args:
        ratios: of each engine to the reference; that of the reference is ignored.
        reference: name of the engine that the others are compared with.
        load: load by other programs; None: not known.
        engines: number of engines compared.
        variations: of each engine, see `variation`.
    """
    clauses = [
        ratio_clause(engine, reference, ratio)
        for engine, ratio in ratios.items()
        if engine != reference and math.isfinite(ratio.median)
    ]
    what = "ratios" if clauses else "figures"
    busy = "" if load is None or not load.busy else _busy_text(load, what)
    if not clauses:
        why = ONE_ENGINE if engines == 1 else TOO_FEW
        if busy:
            again = "" if engines == 1 else f" {AGAIN}"
            return Verdict(f"{busy}. {why}{again}", BADGES["busy"], "busy")
        return Verdict(why, BADGES["none"], "none")
    measured = ", ".join(clauses)
    if busy:  # first: what follows must not be taken for a result
        return Verdict(f"{busy}: {measured}. {AGAIN}", BADGES["busy"], "busy")
    if load is None:
        sentence = f"{measured}; it is not known whether the machine was quiet."
        return Verdict(sentence, BADGES["unknown"], "unknown")
    quiet = f"the machine was quiet while this was measured{_varied_text(variations or {})}"
    return Verdict(f"{measured}; {quiet}.", BADGES["quiet"], "quiet")


TOO_FEW = "There is no ratio, as fewer than two engines completed a round."
AGAIN = "Compare again once the machine is quiet."
ONE_ENGINE = "There is no ratio, as there is only one engine: choose another to compare it with."
FAR = 0.1
"""Ratio below which the sentence has its inverse."""
ABOUT = 0.05
"""Without an interval, a ratio that is nearer to 1 does not tell which is faster."""


def ratio_clause(engine: str, reference: str, ratio: Ratio, *, paired: bool = True) -> str:
    """What is said of one engine, or run.

    Args:
        engine: its name.
        reference: name of the other.
        ratio: of their throughput.
        paired: whether they were measured in rounds, so that there should be an interval.
    """
    median, low, high = ratio_numbers(ratio)
    known = math.isfinite(ratio.low)
    missing = " (too few rounds for an interval)" if paired else ""
    interval = f" ({low} to {high})" if known else missing
    if known and ratio.low <= 1 <= ratio.high:
        return f"no difference seen between {engine} and {reference}{interval}"
    if not known and abs(ratio.median - 1) < ABOUT:
        return f"{engine} is about as fast as {reference}, {median} times{interval}"
    if ratio.median < FAR:
        # Far below 1 the inverse is easier to read.
        inverse = Ratio(*(1 / each if each else math.inf for each in ratio))
        median, high, low = (_number(each, _digits(ratio)) for each in inverse)
        interval = f" ({low} to {high})" if known else missing
        return f"{engine} is slower, taking {median} times as long as {reference}{interval}"
    if ratio.median < 1:
        return f"{engine} is slower, {median} times as fast as {reference}{interval}"
    return f"{engine} is {median} times as fast as {reference}{interval}"


def short_verdict(
    ratios: Mapping[str, Ratio], reference: str, level: Level, *, paired: bool = True
) -> str:
    """The verdict in a few words, its caveat first: "Do not trust: ondevice 1.8 (1.6 to 2.0)", with
    a multiplication sign; without the intervals where there are several ratios.

    Args:
        ratios: as for `verdict_of`.
        reference: as for `verdict_of`.
        level: that of the verdict.
        paired: whether they were measured in lockstep; else their names, of recorded runs, follow
            the ratios: they are long, and the end is cut off where there is little room. There the
            reference is named, too.
    """
    known = {
        engine: ratio
        for engine, ratio in ratios.items()
        if engine != reference and math.isfinite(ratio.median)
    }
    parts = []
    for engine, ratio in known.items():
        if math.isfinite(ratio.low) and ratio.low <= 1 <= ratio.high:
            parts.append(f"{engine}: no difference")
            continue
        text = ratio_text(ratio, interval=len(known) == 1)
        parts.append(f"{engine} {text}" if paired else f"{text} {engine}")
    if not parts:
        return NO_RATIO
    against = "" if paired else f" vs {reference}"
    return f"{CAVEATS.get(level, '')}{', '.join(parts)}{against}"


def ratio_text(ratio: Ratio, *, interval: bool = True) -> str:
    """A ratio with the digits of the sentence: "1.8 (1.6 to 2.0)", with a multiplication sign.

    Args:
        ratio: of two throughputs; below 0.1 the sentence has its inverse instead.
        interval: whether to write the interval, if there is one.
    """
    median, low, high = ratio_numbers(ratio)
    known = interval and math.isfinite(ratio.low)
    return f"{median}× ({low} to {high})" if known else f"{median}×"  # noqa: RUF001


def ratio_numbers(ratio: Ratio) -> tuple[str, str, str]:
    """Median and limits of a ratio, with the same digits wherever they are written: two, and three
    near 1."""
    median, low, high = (_number(each, _digits(ratio)) for each in ratio)
    return median, low, high


def _digits(ratio: Ratio) -> int:
    return 3 if any(abs(each - 1) < NEAR for each in ratio) else 2


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value) or not 0.1 <= abs(value) < 10 or digits == 3:
        return significant(value)
    return f"{value:.{1 if value >= 0.995 else 2}f}"


def _varied_text(variations: Mapping[str, float]) -> str:
    """Which throughputs varied much though no other program was the cause; empty: none did."""
    varied = {engine: by for engine, by in variations.items() if by > VARIES}
    if not varied:
        return ""
    named = ", ".join(f"{engine} by {_number(by, 2)} times" for engine, by in varied.items())
    return (
        f", but speeds differed between rounds of measuring ({named}): these ratios are "
        "of typical rounds, not of whole runs"
    )


def _busy_text(load: Load, what: str) -> str:
    return f"Do not trust these {what}, as the machine was busy ({load.sentence})"
