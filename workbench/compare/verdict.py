"""Interpretation of the ratios of a comparison, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from workbench.compare.statistics import Ratio
from workbench.display.number_format import significant
from workbench.machine.load import Load

Level = Literal["quiet", "busy", "unknown", "unpaired", "none"]
"""How far the ratios can be trusted: `quiet`: the machine had no other load; `busy`: it had;
`unknown`: the load was not measured; `unpaired`: the runs were not measured in lockstep; `none`:
there is no ratio."""

BADGES: dict[Level, str] = {
    "quiet": "machine quiet",
    "busy": "machine busy",
    "unknown": "load not known",
    "unpaired": "not in lockstep",
    "none": "no ratio",
}

DO_NOT_TRUST = ": do not trust"

NEAR = 0.1
"""Ratios as close to 1 as this are written with three digits, others with two."""


class Verdict(NamedTuple):
    """The result of a comparison, in words."""

    sentence: str
    badge: str
    """A few words on how far the ratios can be trusted."""
    level: Level

    @property
    def caveat_first(self) -> str:
        """The sentence with its caveat first, for displays that may cut off the end."""
        if self.level in ("quiet", "none"):
            return self.sentence
        if self.level == "busy":  # what stands first need not stand last as well
            said, state, what = self.sentence.partition(DO_NOT_TRUST)
            return f"Do not trust{what if state else '.'} {said}."
        return f"{self.badge}. {self.sentence}"


def verdict_of(
    ratios: Mapping[str, Ratio], reference: str, load: Load | None, engines: int
) -> Verdict:
    """The verdict on engines that were measured in lockstep.

    Args:
        ratios: of each engine to the reference; that of the reference is ignored.
        reference: name of the engine that the others are compared with.
        load: load by other programs; None: not known.
        engines: number of engines compared.
    """
    clauses = [
        _clause(engine, reference, ratio)
        for engine, ratio in ratios.items()
        if engine != reference and math.isfinite(ratio.median)
    ]
    level, state = _machine(load, "ratios" if clauses else "figures")
    if not clauses:
        why = "there is only one engine" if engines == 1 else "no round was measured for two"
        sentence = f"There is no ratio, as {why}"
        if level == "busy":
            return Verdict(f"{sentence}; {state}.", BADGES[level], level)
        return Verdict(f"{sentence}.", BADGES["none"], "none")
    return Verdict(f"{', '.join(clauses)}; {state}.", BADGES[level], level)


def unpaired_verdict(
    ratios: Mapping[str, float], reference: str, days: Sequence[str], differing: Sequence[str]
) -> Verdict:
    """The verdict on recorded runs that were not measured in lockstep.

    Args:
        ratios: throughput of each run relative to the reference.
        reference: the run that the others are compared with.
        days: the distinct days on which they ran.
        differing: settings that differ, other than the engine.
    """
    clauses = [
        _clause(name, reference, Ratio(ratio, math.nan, math.nan), note="")
        for name, ratio in ratios.items()
        if name != reference and math.isfinite(ratio)
    ]
    if not clauses:
        return Verdict("There is no ratio: fewer than two runs were measured.", "no ratio", "none")
    when = f"on different days ({', '.join(days)})" if len(days) > 1 else "separately"
    also = f", and their settings differ ({', '.join(differing)})" if differing else ""
    sentence = (
        f"{', '.join(clauses)}; the runs were measured {when}, not in lockstep{also}: other "
        "load on the machine affects these ratios, and they have no interval."
    )
    return Verdict(sentence, BADGES["unpaired"], "unpaired")


FAR = 0.1
"""Ratio below which the inverse is told."""


def _clause(engine: str, reference: str, ratio: Ratio, note: str | None = None) -> str:
    digits = 3 if any(abs(each - 1) < NEAR for each in ratio) else 2
    median, low, high = (_number(each, digits) for each in ratio)
    known = math.isfinite(ratio.low)
    interval = f" ({low} to {high})" if known else " (too few rounds for an interval)"
    interval = interval if note is None else note
    if known and ratio.low <= 1 <= ratio.high:
        return f"no difference seen between {engine} and {reference}{interval}"
    if ratio.median < FAR:
        # Far below 1 the inverse is easier to read.
        inverse = Ratio(*(1 / each if each else math.inf for each in ratio))
        median, high, low = (_number(each, digits) for each in inverse)
        interval = f" ({low} to {high})" if known else interval
        return f"{engine} is slower, taking {median} times as long as {reference}{interval}"
    if ratio.median < 1:
        return f"{engine} is slower, {median} times as fast as {reference}{interval}"
    return f"{engine} is {median} times as fast as {reference}{interval}"


def _number(value: float, digits: int) -> str:
    if not math.isfinite(value) or not 0.1 <= abs(value) < 10 or digits == 3:
        return significant(value)
    return f"{value:.{1 if value >= 0.995 else 2}f}"


def _machine(load: Load | None, what: str) -> tuple[Level, str]:
    if load is None:
        return "unknown", "it is not known whether the machine was quiet"
    if load.busy:
        return "busy", f"the machine was busy ({load.sentence}){DO_NOT_TRUST} these {what}"
    return "quiet", "the machine was quiet"
