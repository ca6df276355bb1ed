"""The result of `wb.profile`."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.display.quantities import thread_count
from workbench.profiling.engine_profile import COLUMNS, EngineProfile, by_operator, wall_sentence
from workbench.run_folder.operator_timing import OperatorTime

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_SHOWN = 8
"""Number of operators per engine in the text."""


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """The result of `wb.profile`: the operator times of each engine."""

    model: str
    steps: int
    """Number of steps; medians are taken over the faster half of them."""
    batch_size: int
    threads: int
    machine: str
    engines: tuple[EngineProfile, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per engine, part of the step, operator and node.

        Columns: engine, part, op, node (empty for PyTorch), provider, calls, us; these are
        `EngineProfile.times`, corrected where they add up to more than the step.
        """
        import pandas as pd

        rows = [
            {"engine": each.engine, **time._asdict()}
            for each in self.engines
            for time in each.times
        ]
        return pd.DataFrame(rows, columns=["engine", *OperatorTime._fields])

    def table(self, engine: str | None = None) -> pd.DataFrame:
        """One row per operator, slowest first; `COLUMNS` describes the columns.

        Args:
            engine: only this engine; None: all engines.
        """
        import pandas as pd

        rows = [
            row
            for each in self.engines
            if engine in (None, each.engine)
            for row in by_operator(each)
        ]
        return pd.DataFrame(rows, columns=[*COLUMNS])

    def plot(self) -> Figure:
        """Plot the slowest operators of each engine, by parts of the step."""
        from workbench.profiling.figure import plot_profile

        return plot_profile(self.model, self.engines, self.caption)

    @property
    def caption(self) -> str:
        """Model, settings and machine of the measurement, in one line."""
        return (
            f"{self.model}, batch {self.batch_size}, medians over the faster half of {self.steps} "
            f"steps after the warm-up, {thread_count(self.threads)}; {self.machine}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON types."""
        return {
            "model": self.model,
            "caption": self.caption,
            "steps": self.steps,
            "batch_size": self.batch_size,
            "threads": self.threads,
            "machine": self.machine,
            "engines": [
                {
                    "engine": each.engine,
                    "wall_ms": each.wall_ms,
                    "profiled_wall_ms": each.profiled_wall_ms,
                    "operators_ms": each.operators_ms,
                    "correction": each.correction,
                    "operators": by_operator(each),
                    "times": [time._asdict() for time in each.times],
                }
                for each in self.engines
            ],
        }

    def __str__(self) -> str:
        lines = []
        for each in self.engines:
            lines.append(wall_sentence(each))
            shown = [] if each.useless else by_operator(each)[:_SHOWN]
            width = max((len(row["op"]) for row in shown), default=0)
            lines += [f"  {row['op']:<{width}}  {row['us']:9.0f} µs" for row in shown]
        return "\n".join([*lines, self.caption])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        sentences = [wall_sentence(each) for each in self.engines]
        lines = "".join(f"<div>{escape(line)}</div>" for line in [*sentences, self.caption])
        table: str = self.table().round(3).to_html(index=False, border=0)
        return f"{lines}<details><summary>All operators</summary>{table}</details>"
