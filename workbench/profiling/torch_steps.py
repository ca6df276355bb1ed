"""PyTorch's profile of training steps, operator by operator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.run_folder.operator_timing import Pass, Timing

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent

_OURS = ("RunGraph", "RunGraphBackward")
"""The node of autograd's graph that ONNX Runtime's passes are; it profiles itself."""


class ProfiledStep(NamedTuple):
    """One step."""

    timings: list[Timing]
    wall_ms: float


def profiled_step(step: Callable[[], object]) -> ProfiledStep:
    """Run `step` once under PyTorch's profiler.

    Of what an operator takes, the operators that it calls are left out; of ORTModule, everything
    that happens within its passes.
    """
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        started = time.perf_counter()
        step()
        wall_ms = 1e3 * (time.perf_counter() - started)
    events: Any = profiler.events()
    return ProfiledStep([found for event in events for found in _timing(event)], wall_ms)


def _timing(event: FunctionEvent) -> Iterator[Timing]:
    """The event as a timing, if it is an operator: of autograd's own bookkeeping there is none."""
    names = [each.name for each in _lineage(event)]
    if any(name in _OURS for name in names):
        return
    op = event.name
    in_optimizer = op.startswith("Optimizer.")
    if not in_optimizer and ("::" not in op or op.startswith(("autograd::", "torch::autograd::"))):
        return
    yield Timing(
        _part(names),
        # Its own time is what Python takes there.
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
    """The event, the one that called it, and so on."""
    while event is not None:
        yield event
        event = event.cpu_parent
