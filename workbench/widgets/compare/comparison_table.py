"""The table of a comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import anywidget
import traitlets

from workbench.compare import COLUMNS, Comparison, RunComparison
from workbench.compare.columns import TESTED
from workbench.compare.rounds.statistics import Ratio
from workbench.compare.verdict import ratio_numbers
from workbench.display.number_format import loss_text
from workbench.widgets.bundle import bundle
from workbench.widgets.charts import MACHINE_BUSY, OF_ROUNDS, throughput_notes
from workbench.widgets.engine_styles import HasEngineStyles, engine_styles

SHOWN = {
    "samples_per_s": ("Throughput", f"samples/s, {OF_ROUNDS}"),
    "ratio": ("Ratio", "95 % interval"),
    "peak_memory_mb": ("Peak memory", "MB"),
    "memory_growth_mb": ("Growth", "MB"),
    "startup_s": ("Start-up", "s"),
    "steps": ("Steps", ""),
    "final_loss": ("Final loss", "last batch"),
    "test_loss": ("Test loss", "last"),
    "test_accuracy": ("Accuracy", "of the test split, last, %"),
    "max_loss_difference": ("Loss difference", "largest"),
    "status": ("Status", ""),
}
"""Column of `Comparison.table` -> its heading and unit; the interval is shown with the ratio."""

OF_TOGETHER = ("max_loss_difference",)
"""Columns that there are only for engines that were measured together."""
OF_APART = (*TESTED,)
"""Columns that there are only for runs that were measured one by one."""
APART = {
    "samples_per_s": "samples per second: median over about twenty rounds of the run",
    "ratio": "throughput relative to the reference; measured apart, it has no interval",
    "test_loss": "loss on the test split of the last evaluation",
    "test_accuracy": "share of the test split's rows that the last evaluation classified rightly",
}
"""Meaning of a column for runs that were measured one by one, where it differs."""

RATIO = ("ratio", "ratio_low", "ratio_high")
"""The columns of a ratio, which are sent as they are written: as in the verdict."""


class ComparisonTable(HasEngineStyles, anywidget.AnyWidget):
    """The figures of a comparison: a row for each engine or run, or a column in a narrow page."""

    _esm = bundle("comparison_table.js")
    _css = bundle("comparison_table.css")

    columns = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "key": traitlets.Unicode(),
                "label": traitlets.Unicode(),
                "unit": traitlets.Unicode(),
                "description": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """The columns."""
    rows = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "engine": traitlets.Unicode(),
                "note": traitlets.Unicode(),
                "cells": traitlets.Dict(),
            }
        )
    ).tag(sync=True)
    """One dict an engine: `engine`, `note`, on operators that PyTorch ran in its place or empty,
    and `cells` by column; None where there is no figure."""
    heading = traitlets.Unicode("Engine").tag(sync=True)
    """Heading of the names of the rows: "Engine" or "Run"."""
    reference = traitlets.Unicode().tag(sync=True)
    """The engine that the others are compared with."""
    caption = traitlets.Unicode().tag(sync=True)
    """Source of the figures."""
    hint = traitlets.Unicode().tag(sync=True)
    """Text while there are no figures; empty: nothing is shown then."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(columns=_columns(True), **kwargs)

    def clear(self, hint: str = "") -> None:
        self.rows = []
        self.hint = hint

    @property
    def throughputs(self) -> dict[str, float]:
        """Samples/s of each row; NaN: nothing of it was measured."""
        cells = {row["engine"]: row["cells"]["samples_per_s"] for row in self.rows}
        return {name: math.nan if cell is None else cell for name, cell in cells.items()}

    def show(
        self,
        comparison: Comparison | RunComparison,
        styles: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Show the current figures of `comparison`.

        Args:
            comparison: the comparison to show.
            styles: the line of each row, by its name; None: the rows are engines.
        """
        frame = comparison.table()
        self.heading = str(frame.index.name).capitalize()
        runs = comparison if isinstance(comparison, RunComparison) else None
        together = runs is None or runs.measured_together
        self.columns = _columns(together, comparison, [*frame.dropna(axis="columns", how="all")])
        self.reference = comparison.reference
        self.caption = comparison.caption
        self.engine_styles = engine_styles() if styles is None else dict(styles)
        self.rows = [
            {
                "engine": engine,
                "note": row["pytorch_fallbacks"],
                "cells": {
                    **{key: _cell(row.get(key, math.nan)) for key in (*SHOWN, "rounds")},
                    **_ratio_cells(row),
                    **_final_loss(row),
                },
            }
            for engine, row in zip(frame.index, frame.to_dict("records"), strict=True)
        ]


def rates_note(comparison: Comparison | RunComparison, *, busy: bool) -> str:
    """What the throughputs of a comparison are, and how far they can be trusted, in a few words.

    Args:
        comparison: whose throughputs they are.
        busy: whether its verdict says that the machine was busy.
    """
    if isinstance(comparison, RunComparison) and comparison.ended and comparison.step_results:
        return throughput_notes(comparison.step_results)[1]
    return f"{MACHINE_BUSY}, {OF_ROUNDS}" if busy else OF_ROUNDS


def _columns(
    together: bool,
    comparison: Comparison | RunComparison | None = None,
    known: Collection[str] = (),
) -> list[dict[str, str]]:
    """The columns of a table.

    Args:
        together: whether its runs were measured together.
        comparison: whose figures it has; None: it has none yet.
        known: names of the columns that have a figure.
    """
    meanings = COLUMNS if together else {**COLUMNS, **APART}
    doubted = {}
    left_out = [*(OF_APART if together else OF_TOGETHER)]
    if comparison is not None:
        if "test_accuracy" not in known:  # of a regression
            left_out.append("test_accuracy")
        busy = comparison.verdict().level == "busy"
        doubted["samples_per_s"] = f"samples/s, {rates_note(comparison, busy=busy)}"
        if busy:
            doubted["ratio"] = MACHINE_BUSY
    return [
        {
            "key": key,
            "label": label,
            "unit": doubted.get(key, unit),
            "description": meanings[key],
        }
        for key, (label, unit) in SHOWN.items()
        if key not in left_out
    ]


def _final_loss(row: Mapping[Any, Any]) -> dict[str, str]:
    """That of a run that has diverged; empty where it is a number, or no step was taken."""
    diverged = row["steps"] > 0 and not math.isfinite(row["final_loss"])
    return {"final_loss": loss_text(math.nan)} if diverged else {}


def _ratio_cells(row: Mapping[Any, Any]) -> dict[str, str | None]:
    found = Ratio(*(float(row[name]) for name in RATIO))
    cells = zip(RATIO, found, ratio_numbers(found), strict=True)
    return {name: text if math.isfinite(value) else None for name, value, text in cells}


def _cell(value: Any) -> float | str | None:
    """JSON has no NaN, which becomes None."""
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None
