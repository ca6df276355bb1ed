"""The figure of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.figures.notebook_figure import NotebookFigure
from workbench.figures.static_figure import caption
from workbench.profiling.engine_profile import EngineProfile, by_operator, doubt_sentence
from workbench.run_folder.operator_timing import PASSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PASS_STYLES = {
    "forward": ("#0369a1", ""),
    "backward": ("#c2410c", "///"),
    "optimizer": ("#7c7c7c", "..."),
}
"""Colour and hatching of each part of a step."""

SHOWN_OPERATORS = 12
"""Number of operators with their own bar; the others are summed."""

LONGEST_NAME = 30
"""Characters of an operator's name in a figure; `table()` has the full name."""


def plot_profile(model: str, engines: Sequence[EngineProfile], text: str) -> Figure:
    """Plot the slowest operators of each engine, by parts of the step, with `text` as caption."""
    height = 1.3 + 0.24 * SHOWN_OPERATORS
    figure = NotebookFigure(figsize=(6.2 * len(engines), height), layout="constrained")
    figure.suptitle(f"One step of {model}", fontsize=11, fontweight="bold", parse_math=False)
    panels = figure.subplots(1, len(engines), squeeze=False)[0]
    for axes, each in zip(panels, engines, strict=True):
        _draw_operators(axes, each, by_operator(each))
    longest = max(axes.get_xlim()[1] for axes in panels)
    for axes in panels:
        axes.set_xlim(0, longest)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside upper right", ncols=len(labels))
    caption(figure, text)
    return figure


def _draw_operators(axes: Axes, profile: EngineProfile, rows: Sequence[dict[str, Any]]) -> None:
    """Draw bars of the slowest operators, and one for all others."""
    shown, others = rows[:SHOWN_OPERATORS], rows[SHOWN_OPERATORS:]
    names = [f"{_shortened(row['op'])} ({row['calls']})" for row in shown]
    bars = [[row[f"{part}_us"] / 1000 for row in shown] for part in PASSES]
    if others:
        names.append(f"{len(others)} others")
        for part, widths in zip(PASSES, bars, strict=True):
            widths.append(sum(row[f"{part}_us"] for row in others) / 1000)
    left = np.zeros(len(names))
    for part, widths in zip(PASSES, bars, strict=True):
        colour, hatch = PASS_STYLES[part]
        axes.barh(
            names, widths, left=left, color=colour, hatch=hatch, edgecolor="white", label=part
        )
        left += widths
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(True, axis="x", color="#e5e5e5", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_title(
        f"{profile.engine}: {profile.wall_ms:.2f} ms per step\n{_second_line(profile)}",
        fontsize=9,
        loc="left",
    )
    axes.set_xlabel("ms per step; number of calls in brackets", fontsize=8)


def _second_line(profile: EngineProfile) -> str:
    measured = (
        f"profiled {profile.profiled_wall_ms:.2f} ms, operators {profile.operators_ms:.2f} ms"
    )
    if not doubt_sentence(profile):
        return measured
    excess = 1 / profile.correction
    said = "do not trust the times" if profile.useless else "each is divided by it"
    return f"{measured} ({excess:.1f} times the step: {said})"


def _shortened(operator: str) -> str:
    """An operator's name, a long one shortened in the middle."""
    if len(operator) <= LONGEST_NAME:
        return operator
    kept = LONGEST_NAME // 2
    return f"{operator[:kept]}…{operator[-kept:]}"
