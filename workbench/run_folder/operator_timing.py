"""Durations of the operators of a training step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple

Pass = Literal["forward", "backward", "optimizer"]
"""Part of a step. With PyTorch the loss belongs to the forward pass."""

PASSES: tuple[Pass, ...] = ("forward", "backward", "optimizer")


class Timing(NamedTuple):
    """One execution of one operator."""

    part: Pass
    op: str
    node: str
    """Name of the node in the graph; empty if there is no graph."""
    provider: str
    """Executor: "PyTorch", an execution provider of ONNX Runtime, or `OWN_KERNELS`."""
    us: float
    """Microseconds, excluding nested operators."""


class StepWindow(NamedTuple):
    """When a step ran, in nanoseconds on the clock of `time.time_ns`."""

    start_ns: int
    end_ns: int


class OperatorTime(NamedTuple):
    """One operator in one part of a step: median over several steps."""

    part: Pass
    op: str
    node: str
    provider: str
    calls: int
    """Executions per step."""
    us: float
    """Microseconds per step, summed over the executions."""


def median_times(steps: Sequence[Iterable[Timing]]) -> list[OperatorTime]:
    """The median over `steps` of each operator's time, longest first.

    An operator that did not run in a step counts as 0 there.
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
