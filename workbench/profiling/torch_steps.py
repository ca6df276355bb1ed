"""Profiles training steps with PyTorch's profiler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.run_folder.operator_timing import Pass, Timing

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent

_OURS = ("RunGraph", "RunGraphBackward")
"""Names of the autograd node that runs ONNX Runtime's graph, which has its own profiler."""


class ProfiledStep(NamedTuple):
    """The profile of one step."""

    timings: list[Timing]
    wall_ms: float


def profiled_step(step: Callable[[], object]) -> ProfiledStep:
    """Run `step` once under PyTorch's profiler.

    Times exclude nested operators and everything inside ORTModule's forward and backward graphs.
    """
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        started = time.perf_counter()
        step()
        wall_ms = 1e3 * (time.perf_counter() - started)
    events: Any = profiler.events()
    return ProfiledStep([found for event in events for found in _timing(event)], wall_ms)


def _timing(event: FunctionEvent) -> Iterator[Timing]:
    """The timing of an event if it is an operator; events of autograd itself are skipped."""
    names = [each.name for each in _lineage(event)]
    if any(name in _OURS for name in names):
        return
    op = event.name
    in_optimizer = op.startswith("Optimizer.")
    if not in_optimizer and ("::" not in op or op.startswith(("autograd::", "torch::autograd::"))):
        return
    yield Timing(
        _part(names),
        # The self time of an optimizer event is Python code.
        op.partition("#")[0] if in_optimizer else op,
        "",
        "PyTorch",
        float(event.self_cpu_time_total),
    )


def _part(names: list[str]) -> Pass:
    if any(name.startswith("Optimizer.") for name in names):
        return "optimizer"
    if any(name.startswith("autograd::engine::evaluate_function") for name in names):
        return "backward"
    return "forward"


def _lineage(event: FunctionEvent | None) -> Iterator[FunctionEvent]:
    """The event and its callers."""
    while event is not None:
        yield event
        event = event.cpu_parent
