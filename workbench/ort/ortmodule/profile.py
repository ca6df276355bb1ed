"""ONNX Runtime's own profile of training steps, read node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbench.operator_timing import Pass, Timing
from workbench.ort.ortmodule.module import ORTModule

_KERNEL = "_kernel_time"
_PASS = "SequentialExecutor::Execute"

BETWEEN = "(between nodes)"
"""In the place of an operator: what ONNX Runtime takes to go from node to node."""


class Window(NamedTuple):
    """When a step ran, in nanoseconds on the clock of `time.time_ns`."""

    start_ns: int
    end_ns: int


def step_timings(module: ORTModule, windows: Sequence[Window]) -> list[list[Timing]]:
    """What each node took in each step; ends the profile of every session of `module`.

    Args:
        module: its graphs were built within `profiled`.
        windows: when each step ran.
    """
    steps: list[list[Timing]] = [[] for _ in windows]
    for built in module.built_graphs:
        events, start_ns = built.program.session.end_profile()
        for index, window in enumerate(windows):
            begin, end = ((edge - start_ns) / 1000 for edge in window)
            inside = [event for event in events if begin <= event.get("ts", -1) < end]
            steps[index] += _of_step(inside)
    return steps


def _of_step(events: Sequence[dict[str, Any]]) -> Iterator[Timing]:
    """The nodes in the events of one step: a forward pass and then a backward pass."""
    passes = _outermost([event for event in events if event["name"] == _PASS])
    kernels = _outermost([event for event in events if event["name"].endswith(_KERNEL)])
    for index, one_pass in enumerate(passes):
        part: Pass = "backward" if index % 2 else "forward"
        rest = one_pass["dur"]
        for event in kernels:
            if one_pass["ts"] <= event["ts"] < _end(one_pass):
                node = event["name"].removesuffix(_KERNEL)
                found = event["args"]
                yield Timing(part, found["op_name"], node, found["provider"], event["dur"])
                rest -= event["dur"]
        yield Timing(part, BETWEEN, "", "ONNX Runtime", rest)


def _outermost(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that lie within no other: the bodies of If, Loop and Scan count for their node."""
    kept: list[dict[str, Any]] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if not kept or event["ts"] >= _end(kept[-1]):
            kept.append(event)
    return kept


def _end(event: dict[str, Any]) -> float:
    end: float = event["ts"] + event["dur"]
    return end
