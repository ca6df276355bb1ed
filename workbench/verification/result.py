"""The result of `wb.verify`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5
"""Number of wrong gradients per engine in the text."""


@dataclass(frozen=True, slots=True)
class GradientRow:
    """Comparison of one parameter's gradient by one engine with the reference."""

    parameter: str
    engine: str
    shape: tuple[int, ...]
    relative_error: float
    """The largest difference relative to the largest entry of the reference; infinite if one of
    the two is not finite."""
    worst_entry: tuple[int, ...]
    """Index of the entry with that difference."""
    expected: float
    """The reference's gradient there."""
    actual: float
    """The engine's gradient there."""
    compared: int
    """Number of compared entries."""


@dataclass(frozen=True, slots=True)
class EngineVerdict:
    """The result of one engine."""

    engine: str
    loss: float
    """NaN if the engine failed."""
    loss_error: float
    """Error relative to the reference's loss; NaN if the engine failed."""
    failure: str
    """Why the engine failed: its error message, or the signal that killed it; else empty."""


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """The result of `wb.verify`: gradients of each engine compared with the reference."""

    model: str
    reference: str
    """Description of the reference, such as "PyTorch"."""
    reference_loss: float
    tolerance: float
    """Largest relative error that counts as equal."""
    batch_size: int
    engines: tuple[EngineVerdict, ...]
    gradients: tuple[GradientRow, ...]

    @property
    def ok(self) -> bool:
        """Whether loss and gradients of all engines agree with the reference within tolerance."""
        return all(self.agrees(verdict.engine) for verdict in self.engines)

    def agrees(self, engine: str) -> bool:
        """Whether loss and gradients of `engine` agree with the reference within tolerance."""
        return all(
            not verdict.failure and verdict.loss_error <= self.tolerance
            for verdict in self.engines
            if verdict.engine == engine
        ) and not self.wrong(engine)

    def wrong(self, engine: str) -> list[GradientRow]:
        """The gradients of `engine` that exceed the tolerance, worst first."""
        rows = [row for row in self.of(engine) if not row.relative_error <= self.tolerance]
        return sorted(rows, key=lambda row: -row.relative_error)

    def of(self, engine: str) -> list[GradientRow]:
        """The gradients of `engine`, in the order of the parameters."""
        return [row for row in self.gradients if row.engine == engine]

    @property
    def max_relative_error(self) -> float:
        """The largest error of all gradients of all engines; NaN if there are none."""
        return _largest(row.relative_error for row in self.gradients)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per parameter and engine; columns as in `GradientRow`, and ok."""
        import pandas as pd

        rows = [
            {**asdict(row), "ok": row.relative_error <= self.tolerance} for row in self.gradients
        ]
        return pd.DataFrame(rows, columns=[*GradientRow.__dataclass_fields__, "ok"])

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        found = f"{self.model} {'agrees' if self.ok else 'does not agree'} with {self.reference}"
        worst = self.max_relative_error
        size = "" if math.isnan(worst) else f": largest relative error {worst:.1e}"
        return f"{found}{size} (tolerance {self.tolerance:g}, batch of {self.batch_size})."

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON types."""
        worst = self.max_relative_error
        return {
            "model": self.model,
            "ok": self.ok,
            "reference": self.reference,
            "reference_loss": _number(self.reference_loss),
            "tolerance": self.tolerance,
            "batch_size": self.batch_size,
            "max_relative_error": _number(worst),
            "engines": [_record(verdict) for verdict in self.engines],
            "gradients": [_record(row) for row in self.gradients],
        }

    def __str__(self) -> str:
        lines = [self.verdict]
        width = max((len(verdict.engine) for verdict in self.engines), default=0)
        for verdict in self.engines:
            lines.append(f"  {verdict.engine:<{width}}  {self.summary(verdict)}")
            lines += [
                f"  {'':<{width}}    {row.parameter} {list(row.shape)}: {row.relative_error:.1e}, "
                f"{row.actual:.6g} at {list(row.worst_entry)}, expected {row.expected + 0:.6g}"
                for row in self.wrong(verdict.engine)[:_SHOWN]
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def summary(self, verdict: EngineVerdict) -> str:
        """The result of one engine in one line."""
        if verdict.failure:
            return f"failed: {verdict.failure}"
        rows = self.of(verdict.engine)
        worst = _largest(row.relative_error for row in rows)
        errors = f"loss within {verdict.loss_error:.1e}, gradients within {worst:.1e}"
        wrong = len(self.wrong(verdict.engine))
        if wrong:
            return f"WRONG: {wrong} of {len(rows)} gradients; {errors}"
        if not self.agrees(verdict.engine):
            return f"WRONG: the loss; {errors}"
        return f"ok: {len(rows)} gradients; {errors}"

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(line)}</div>" for line in str(self).splitlines())
        table: str = self.frame.to_html(index=False, border=0)
        return f"{lines}<details><summary>All gradients</summary>{table}</details>"


def _largest(errors: Iterable[float]) -> float:
    found = list(errors)
    return max(found) if found else math.nan


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _record(row: EngineVerdict | GradientRow) -> dict[str, Any]:
    return {
        name: _number(value) if isinstance(value, float) else value
        for name, value in asdict(row).items()
    }
