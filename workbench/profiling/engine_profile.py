"""The operator times of one engine, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.run_folder.operator_timing import OperatorTime

COLUMNS = {
    "engine": "engine",
    "op": "operator",
    "provider": "PyTorch, or the execution provider of ONNX Runtime",
    "calls": "calls of the operator per step",
    "forward_us": "microseconds in the forward pass, the loss included",
    "backward_us": "microseconds in the backward pass",
    "optimizer_us": "microseconds in the optimizer step",
    "us": "microseconds per step",
    "share": "share of the step's wall time under the profiler, 0 to 1",
}
"""The columns of the table and their meaning."""


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """The operator times of one engine's step."""

    engine: str
    wall_ms: float
    """Median milliseconds of a step without a profiler."""
    profiled_wall_ms: float
    """Median milliseconds of a step under the profiler, which slows it down."""
    times: tuple[OperatorTime, ...]
    """Medians over steps, by operator, node and part of the step; slowest first."""

    @property
    def operators_ms(self) -> float:
        """Milliseconds of all operators.

        The rest of the wall time is Python code, autograd, scheduling and the profiler.
        """
        return sum(time.us for time in self.times) / 1000


def by_operator(profile: EngineProfile) -> list[dict[str, Any]]:
    """One row per operator and provider, slowest first; keys as in `COLUMNS`."""
    groups: dict[tuple[str, str], list[OperatorTime]] = {}
    for time in profile.times:
        groups.setdefault((time.op, time.provider), []).append(time)
    rows = [_row(profile, op, provider, times) for (op, provider), times in groups.items()]
    return sorted(rows, key=lambda row: -row["us"])


def wall_sentence(profile: EngineProfile) -> str:
    """The step time of one engine, in a sentence."""
    return (
        f"{profile.engine}: {profile.wall_ms:.2f} ms per step; {profile.profiled_wall_ms:.2f} ms "
        f"under the profiler, of which {profile.operators_ms:.2f} ms in operators."
    )


def _row(
    profile: EngineProfile, op: str, provider: str, times: Sequence[OperatorTime]
) -> dict[str, Any]:
    total = sum(time.us for time in times)
    return {
        "engine": profile.engine,
        "op": op,
        "provider": provider,
        "calls": sum(time.calls for time in times),
        **{f"{part}_us": _of(times, part) for part in ("forward", "backward", "optimizer")},
        "us": total,
        "share": total / (1000 * profile.profiled_wall_ms),
    }


def _of(times: Sequence[OperatorTime], part: str) -> float:
    return sum((time.us for time in times if time.part == part), 0.0)
