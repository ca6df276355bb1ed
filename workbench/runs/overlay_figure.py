"""One figure of any recorded runs, each with a colour and dash of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.figures.static_figure import from_zero, label, make_figure, printable
from workbench.runs.figure import smooth_throughput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.runs.run import Run

COLORS = ("#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#be185d", "#0e7490", "#a16207", "#475569")
DASHES = ("-", "--", "-.", ":")
LONGEST_LABEL = 40


def plot_overlay(runs: Sequence[Run]) -> Figure:
    """Plot loss, throughput and memory of runs over their steps, by display name."""
    figure, (loss, throughput, memory) = make_figure(
        3, f"{len(runs)} runs, not measured in lock step"
    )
    handles = []
    for run, color, dash in zip(runs, cycle(COLORS), cycle(_dashes()), strict=False):
        points = run.follow().poll()
        style: dict[str, Any] = {"color": color, "linestyle": dash, "linewidth": 1.2}
        handles += loss.plot(points.step, points.loss, **style)
        measured = points.step > run.config.warmup_steps
        step, rate = smooth_throughput(
            points.step[measured], points.samples[measured], points.seconds[measured]
        )
        throughput.plot(step, rate, **style)
        sampled = np.isfinite(points.rss_bytes)
        memory.plot(points.step[sampled], points.rss_bytes[sampled] / 1e6, **style)
    label(loss, "Loss", "loss of the batch")
    label(throughput, "Throughput", "samples per second")
    label(memory, "Memory", "resident set, MB")
    from_zero(throughput)
    from_zero(memory)
    names = [_legend_text(run.name) for run in runs]
    figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(runs)), fontsize=8)
    return figure


def _legend_text(name: str) -> str:
    """A name as matplotlib shows it unchanged: no formula in it, and not hidden."""
    text = printable(name) if len(name) <= LONGEST_LABEL else f"{printable(name)[:LONGEST_LABEL]}…"
    return f" {text}".replace("$", r"\$")


def _dashes() -> list[str]:
    """A dash for each run, another one each time that the colours begin again."""
    return [dash for dash in DASHES for _ in COLORS]
