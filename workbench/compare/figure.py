"""The figure of a comparison."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.compare.columns import MARK
from workbench.compare.rounds.statistics import Ratio
from workbench.compare.verdict import Verdict, ratio_numbers
from workbench.display.encodable import printable
from workbench.figures.engine_style import line_style
from workbench.figures.static_figure import caption, make_figure, note_if_empty
from workbench.runs import Run
from workbench.runs.figures.figure import UNMEASURED, draw_loss, draw_memory, draw_throughput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WARNING_STYLE: dict[str, Any] = {"fontsize": 10, "fontweight": "bold", "color": "#b91c1c"}
"""Title style of a figure with a warning."""
VERDICT_STYLE: dict[str, Any] = {"fontsize": 10, "fontweight": "bold"}
VERDICT_LETTERS = 140
"""Characters of the verdict in a line, by the width of the figure."""


class Compared(Protocol):
    """What the figure shows of a comparison."""

    @property
    def runs(self) -> Mapping[str, Run]: ...
    @property
    def engines(self) -> Sequence[str]: ...
    @property
    def reference(self) -> str: ...
    @property
    def unmeasured_steps(self) -> int: ...
    @property
    def pytorch_fallbacks(self) -> Mapping[str, str]: ...
    @property
    def caption(self) -> str: ...
    def ratio(self, engine: str) -> Ratio: ...
    def verdict(self) -> Verdict: ...


def plot_comparison(comparison: Compared) -> Figure:
    """Plot loss, throughput and memory of all engines, and their ratios to the reference."""
    title = comparison.reference
    if len(comparison.engines) > 1:
        title = f"Comparison with {comparison.reference}"
    figure, (loss, throughput, memory, ratios) = make_figure(4, title)
    for engine, run in comparison.runs.items():
        points, style = run.follow().poll(), line_style(engine)
        draw_loss(loss, engine, style, points)
        draw_throughput(throughput, engine, style, points, comparison.unmeasured_steps)
        draw_memory(memory, engine, style, points)
    if comparison.runs:
        loss.legend(fontsize=8)
    note_if_empty(throughput, UNMEASURED)
    _draw_ratios(ratios, comparison)
    notes = [f"{MARK} {engine}: {why}" for engine, why in comparison.pytorch_fallbacks.items()]
    caption(figure, "\n".join([comparison.caption, *notes]))
    verdict = comparison.verdict()
    if verdict.level != "none":
        style = WARNING_STYLE if verdict.level == "busy" else VERDICT_STYLE
        lines = [title, *textwrap.wrap(printable(verdict.sentence), VERDICT_LETTERS)]
        figure.suptitle(printable("\n".join(lines)), parse_math=False, **style)
        figure.title_sentences = (title, printable(verdict.sentence))
    return figure


def _draw_ratios(axes: Axes, comparison: Compared) -> None:
    engines = [engine for engine in comparison.engines if engine in comparison.runs]
    marked = comparison.pytorch_fallbacks
    for row, engine in enumerate(engines):
        ratio = comparison.ratio(engine)
        if not np.isfinite(ratio.median):
            continue
        axes.barh(row, ratio.median, color=line_style(engine)["color"], height=0.55, alpha=0.85)
        if np.isfinite(ratio.high):
            axes.plot([ratio.low, ratio.high], [row, row], color="#171717", linewidth=2)
        axes.text(
            ratio.high if np.isfinite(ratio.high) else ratio.median,
            row,
            f"  {ratio_numbers(ratio)[0]}",
            va="center",
            ha="left",
            fontsize=8,
            clip_on=False,
        )
    names = [engine + MARK * (engine in marked) for engine in engines]
    axes.set_yticks(range(len(engines)), names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1.0, color="#737373", linewidth=0.8, linestyle=":")
    axes.margins(x=0.18)
    axes.set_title("Speed", fontsize=9, loc="left")
    axes.set_xlabel(f"throughput relative to {comparison.reference}, 95 % interval", fontsize=8)
