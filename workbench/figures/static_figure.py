"""Static figures for notebooks, reports and readers without a kernel."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from workbench.display.encodable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workbench.figures.notebook_figure import NotebookFigure


CAPTION_LETTER = 0.06
"""Width of a letter of a caption, in inches: on average, and a little more."""
TITLE_LINE = 0.19
"""Height of a line of a title, in inches; there is room for two."""


def make_figure(panels: int, title: str, rows: int = 1) -> tuple[NotebookFigure, np.ndarray]:
    """A figure and its panels, row by row; `panels` is the number in a row."""
    from workbench.figures.notebook_figure import NotebookFigure

    lines = title.count("\n") + 1
    size = (3.4 * panels, 0.4 + 2.8 * rows + TITLE_LINE * max(0, lines - 2))
    figure = NotebookFigure(figsize=size, layout="constrained")
    look = {"fontsize": 11, "fontweight": "bold"} if lines <= 2 else {"fontsize": 9}
    figure.suptitle(printable(title), parse_math=False, **look)
    axes = figure.subplots(rows, panels, squeeze=False).ravel()
    for panel in axes:
        panel.grid(True, color="#e5e5e5", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return figure, axes


def label(axes: Axes, title: str, unit: str) -> None:
    """Title and units of a chart over steps, which are whole numbers."""
    number_steps(axes)
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel(unit, fontsize=8)


def number_steps(axes: Axes) -> None:
    """Number the axis of steps by whole numbers that do not run into each other."""
    axes.locator_params(axis="x", integer=True, min_n_ticks=1, nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: step_text(round(value)))


def step_text(step: int) -> str:
    """A round number of steps as "250k" or "1.2M", any other with commas."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if abs(step) >= max(size, 10_000) and step % (size // 10) == 0:
            return f"{step / size:,.{0 if step % size == 0 else 1}f}{unit}"
    return f"{step:,}"


def value_text(value: float) -> str:
    """A tick of an axis of values as the page writes it: 0.5, 200, 10k, 1.5M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def from_zero(axes: Axes) -> None:
    """Show the axis from 0 up to a little over what is drawn on it so far."""
    tops = [np.nanmax(line.get_ydata()) for line in axes.lines if len(line.get_ydata())]  # type: ignore[arg-type]
    if tops:
        axes.set_ylim(0, 1.08 * max(tops))


def make_logarithmic(axes: Axes) -> None:
    """Make the axis of values logarithmic, with ticks as the page writes them: 2, not 2 x 10^0."""
    from matplotlib.ticker import LogFormatterSciNotation

    class PlainFormatter(LogFormatterSciNotation):
        """Numbers where matplotlib has powers, at the ticks that it chooses."""

        def __call__(self, value: float, position: int | None = None) -> str:
            return f"{value:g}" if super().__call__(value, position) else ""

    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PlainFormatter())
    axes.yaxis.set_minor_formatter(PlainFormatter(minor_thresholds=(1, 0.4)))
    axes.tick_params(axis="y", which="minor", labelsize=8)


def note_if_empty(axes: Axes, text: str) -> None:
    """Put `text` into a panel without a point; its axes would have made-up numbers."""
    if any(len(line.get_ydata()) for line in axes.lines):  # type: ignore[arg-type]
        return
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=8)


def legend_label(name: str) -> str:
    """`name` as a label that a legend shows as it stands: dollar signs delimit no formula, and
    matplotlib leaves out labels that begin with an underscore."""
    shown = printable(name).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def caption(figure: NotebookFigure, text: str) -> None:
    """Sentences below the charts, in lines that are as wide as the figure."""
    width = int(figure.get_figwidth() / CAPTION_LETTER)
    figure.caption_text = printable(text)
    lines = [part for line in figure.caption_text.splitlines() for part in wrap(line, width)]
    figure.supxlabel("\n".join(lines), fontsize=7, color="#525252", parse_math=False)
