"""One measured figure, with its spread and what it aims for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Result(NamedTuple):
    """A figure of one benchmark."""

    what: str
    value: float
    low: float
    high: float
    spread: str
    """Meaning of `low` and `high`, such as "95 % interval over 20 rounds"."""
    unit: str
    """Empty for a ratio."""
    aim: float
    """The value aims to be at most this; infinite where there is no aim."""
    note: str = ""
    at_least: bool = False
    """Whether the aim is a lower bound instead."""

    @property
    def met(self) -> bool:
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def as_markdown(results: Sequence[Result], caption: str) -> str:
    """The results as a table in Markdown, with the machine that they are from."""
    lines = [
        "| what | measured | from | to | spread | aim | met |",
        "|---|---:|---:|---:|---|---:|---|",
    ]
    for one in results:
        value, low, high, aim = (
            f"{number:.3f}{' ' if one.unit else ''}{one.unit}"
            for number in (one.value, one.low, one.high, one.aim)
        )
        met, bound = "yes" if one.met else "no", "≥" if one.at_least else "≤"
        aimed = f"{bound} {aim} | {met}" if math.isfinite(one.aim) else "none | "
        lines.append(f"| {one.what} | {value} | {low} | {high} | {one.spread} | {aimed} |")
    notes = [f"- {one.what}: {one.note}" for one in results if one.note]
    return "\n".join([*lines, "", *notes, *([""] if notes else []), f"Machine: {caption}"])
