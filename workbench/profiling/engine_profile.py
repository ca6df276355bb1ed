"""The operator times of one engine, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.run_folder.operator_timing import OperatorTime

COLUMNS = {
    "engine": "engine",
    "op": "operator",
    "provider": "PyTorch, the execution provider of ONNX Runtime, or the workbench",
    "calls": "calls of the operator per step",
    "forward_us": "microseconds in the forward pass, the loss included",
    "backward_us": "microseconds in the backward pass",
    "optimizer_us": "microseconds in the optimizer step",
    "us": "microseconds per step",
    "share": "share of the step, 0 to 1",
}
"""The columns of the table and their meaning."""


EXCESS = 1.15
"""Up to this many times the step the operators' times are kept as measured."""

LACK = 0.85
"""Below this share of the step the sentence says what is outside of operators."""

USELESS = 2.0
"""See `EngineProfile.useless`."""


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """The operator times of one engine's step."""

    engine: str
    wall_ms: float
    """Milliseconds of a step without a profiler: the median of the faster half of the steps."""
    profiled_wall_ms: float
    """The same under the profiler, which slows steps down."""
    measured: tuple[OperatorTime, ...]
    """Medians over the faster half of the steps under the profiler, by operator, node and part of
    the step; slowest first. `times` are those to show."""

    @property
    def operators_ms(self) -> float:
        """Milliseconds of all operators under the profiler.

        The rest of the wall time is Python code, autograd, scheduling and the profiler.
        """
        return sum(time.us for time in self.measured) / 1000

    @property
    def step_ms(self) -> float:
        """Milliseconds of a step: the shorter of both, since a profiler and other programs only
        add to a time."""
        return min(self.wall_ms, self.profiled_wall_ms)

    @property
    def correction(self) -> float:
        """Factor from the measured times to `times`: less than 1 where these add up to more than
        `EXCESS` times the step, since profilers and other programs delay threads that wait for each
        other."""
        excess = self.operators_ms / self.step_ms
        return 1.0 if excess <= EXCESS else 1 / excess

    @property
    def useless(self) -> bool:
        """Whether the operators add up to so many steps that even their shares are unreliable."""
        return self.operators_ms >= USELESS * self.step_ms

    @property
    def times(self) -> tuple[OperatorTime, ...]:
        """The operators' times, corrected so that they are not more than the step."""
        factor = self.correction
        return tuple(time._replace(us=factor * time.us) for time in self.measured)


def by_operator(profile: EngineProfile) -> list[dict[str, Any]]:
    """One row per operator and provider, slowest first; keys as in `COLUMNS`."""
    groups: dict[tuple[str, str], list[OperatorTime]] = {}
    for time in profile.times:
        groups.setdefault((time.op, time.provider), []).append(time)
    rows = [_row(profile, op, provider, times) for (op, provider), times in groups.items()]
    return sorted(rows, key=lambda row: -row["us"])


def wall_sentence(profile: EngineProfile) -> str:
    """The step time of one engine, and the share of it that its operators take."""
    measured = (
        f"{profile.engine}: {profile.wall_ms:.2f} ms per step; {profile.profiled_wall_ms:.2f} ms "
        f"under the profiler, of which {profile.operators_ms:.2f} ms in operators."
    )
    outside = profile.step_ms - profile.operators_ms
    sentences = [measured, doubt_sentence(profile)]
    if profile.wall_ms > EXCESS * profile.profiled_wall_ms:
        sentences.append("Other programs slowed the steps without the profiler down.")
    if profile.operators_ms < LACK * profile.step_ms:
        sentences.append(f"The other {outside:.2f} ms of the step are outside of operators.")
    return " ".join(filter(None, sentences))


def doubt_sentence(profile: EngineProfile) -> str:
    """Why the operators' times differ from those measured; empty: they do not."""
    if profile.correction == 1:
        return ""
    excess = 1 / profile.correction
    cause = (
        "The profiler, or other programs, slowed the operators down: their times together are "
        f"{excess:.1f} times the step"
    )
    if profile.useless:
        return f"{cause}. Do not trust them; profile again while the machine is quiet."
    return f"{cause}, so each time shown is divided by {excess:.1f}."


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
        "share": total / (1000 * max(profile.step_ms, profile.operators_ms * profile.correction)),
    }


def _of(times: Sequence[OperatorTime], part: str) -> float:
    return sum((time.us for time in times if time.part == part), 0.0)
