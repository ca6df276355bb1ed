"""How long single operators take in a training step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple

Pass = Literal["forward", "backward", "optimizer"]
"""Part of a step. The loss belongs to the forward pass of PyTorch."""

PASSES: tuple[Pass, ...] = ("forward", "backward", "optimizer")


class Timing(NamedTuple):
    """One run of one operator."""

    part: Pass
    op: str
    node: str
    """Name of the node in the graph; empty where there is no graph."""
    provider: str
    """Whose kernel ran: "PyTorch", or an execution provider of ONNX Runtime."""
    us: float
    """Microseconds, without the operators that it calls in turn."""


class OperatorTime(NamedTuple):
    """One operator in one part of a step: median over several steps."""

    part: Pass
    op: str
    node: str
    provider: str
    calls: int
    """Runs in one step."""
    us: float
    """Microseconds in one step, all its runs together."""


def median_times(steps: Sequence[Iterable[Timing]]) -> list[OperatorTime]:
    """The median over `steps` of each operator's time, the longest first.

    An operator that did not run in a step took no time there.
    """
    totals: defaultdict[tuple[Pass, str, str, str], list[float]]
    totals = defaultdict(lambda: [0.0] * len(steps))
    calls: defaultdict[tuple[Pass, str, str, str], list[int]]
    calls = defaultdict(lambda: [0] * len(steps))
    for index, timings in enumerate(steps):
        for *key, us in timings:
            totals[tuple(key)][index] += us  # type: ignore[index]
            calls[tuple(key)][index] += 1  # type: ignore[index]
    times = [
        OperatorTime(*key, calls=round(median(calls[key])), us=float(median(total)))
        for key, total in totals.items()
    ]
    return sorted(times, key=lambda time: -time.us)
