"""Static figures of runs and comparisons, for notebooks, reports and readers without a kernel."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from workbench.compare.comparison import MARK
from workbench.display.number_format import significant
from workbench.machine.machine import machine_sentence
from workbench.profiling.result import by_operator
from workbench.run_folder.operator_timing import PASSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workbench.compare import Comparison
    from workbench.profiling import EngineProfile, Profile
    from workbench.runs import Run
    from workbench.runs.reader import NewPoints

STYLES = {
    "pytorch": ("#c2410c", "-"),
    "pytorch-compile": ("#7c3aed", (0, (6, 2))),
    "ondevice": ("#0369a1", (0, (4, 1.5, 1, 1.5))),
    "ortmodule": ("#15803d", (0, (1.5, 1.5))),
    "fake": ("#525252", "-"),
}
"""Colour and dash of each engine; the live charts use the same."""

WARNING_STYLE: dict[str, Any] = {"fontsize": 10, "fontweight": "bold", "color": "#b91c1c"}
"""Of the title of a figure whose numbers are not to be trusted."""

PASS_STYLES = {
    "forward": ("#0369a1", ""),
    "backward": ("#c2410c", "///"),
    "optimizer": ("#7c7c7c", "..."),
}
"""Colour and hatching of each part of a step."""

SHOWN_OPERATORS = 12
"""Operators of a profile that have a bar of their own."""

LONGEST_NAME = 30
"""Characters of an operator's name in a figure; `table()` has it whole."""

SMOOTH_POINTS = 60
"""Throughput is drawn as at most about this many means of neighbouring steps."""


class StaticFigure(Figure):
    """A figure that shows itself in a notebook without a plotting backend."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def plot_run(run: Run) -> Figure:
    """Loss, throughput and memory of one run, over its steps."""
    return plot_runs([run])


def plot_runs(runs: Sequence[Run]) -> Figure:
    """Loss, throughput and memory of runs of one model by different engines, over their steps."""
    engines = ", ".join(run.engine for run in runs)
    figure, (loss, throughput, memory) = _figure(3, f"{runs[0].spec['model']} on {engines}")
    for run in runs:
        points = run.follow().poll()
        _draw_loss(loss, run.engine, points)
        _draw_evaluations(loss, run)
        _draw_throughput(throughput, run.engine, points, run.config.warmup_steps)
        _draw_memory(memory, run.engine, points)
    if len(loss.get_legend_handles_labels()[0]) > 1:
        loss.legend(fontsize=8)
    _caption(figure, _run_caption(runs[0]))
    return figure


def plot_comparison(comparison: Comparison) -> Figure:
    """Loss, throughput and memory of every engine, and their ratios to the reference."""
    title = f"Comparison with {comparison.reference}"
    figure, (loss, throughput, memory, ratios) = _figure(4, title)
    for engine, run in comparison.runs.items():
        points = run.follow().poll()
        _draw_loss(loss, engine, points)
        _draw_throughput(throughput, engine, points, comparison.unmeasured_steps)
        _draw_memory(memory, engine, points)
    if comparison.runs:
        loss.legend(fontsize=8)
    _draw_ratios(ratios, comparison)
    notes = [f"{MARK} {engine}: {why}" for engine, why in comparison.in_stead.items()]
    _caption(figure, "\n".join([comparison.caption, *notes]))
    if comparison.warning:
        figure.suptitle(f"{title}\n{comparison.warning}", **WARNING_STYLE)
    return figure


def _figure(panels: int, title: str) -> tuple[StaticFigure, np.ndarray]:
    figure = StaticFigure(figsize=(3.4 * panels, 3.2), layout="constrained")
    figure.suptitle(_printable(title), fontsize=11, fontweight="bold", parse_math=False)
    axes = figure.subplots(1, panels)
    for panel in axes:
        panel.grid(True, color="#e5e5e5", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return figure, axes


def _draw_loss(axes: Axes, engine: str, points: NewPoints) -> None:
    colour, dash = STYLES[engine]
    axes.plot(points.step, points.loss, color=colour, linestyle=dash, linewidth=1.2, label=engine)
    _label(axes, "Loss", "loss of the batch")


def _draw_evaluations(axes: Axes, run: Run) -> None:
    evaluations = run.evaluations
    if not len(evaluations):
        return
    colour, _ = STYLES[run.engine]
    labelled = "test split" in axes.get_legend_handles_labels()[1]
    axes.plot(
        evaluations["step"],
        evaluations["loss"],
        "o",
        color=colour,
        markeredgecolor="#171717",
        markersize=4,
        label=None if labelled else "test split",
    )


def _draw_throughput(axes: Axes, engine: str, points: NewPoints, unmeasured: int) -> None:
    colour, dash = STYLES[engine]
    measured = points.step > unmeasured
    step, rate = _smooth(points.step[measured], points.samples[measured], points.seconds[measured])
    axes.plot(step, rate, color=colour, linestyle=dash, linewidth=1.2, label=engine)
    _from_zero(axes)
    _label(axes, "Throughput", "samples per second")


def _draw_memory(axes: Axes, engine: str, points: NewPoints) -> None:
    colour, dash = STYLES[engine]
    sampled = np.isfinite(points.rss_bytes)
    axes.plot(
        points.step[sampled],
        points.rss_bytes[sampled] / 1e6,
        color=colour,
        linestyle=dash,
        linewidth=1.2,
        label=engine,
    )
    _from_zero(axes)
    _label(axes, "Memory", "resident set, MB")


def _draw_ratios(axes: Axes, comparison: Comparison) -> None:
    engines = [engine for engine in comparison.engines if engine in comparison.runs]
    marked = comparison.in_stead
    for row, engine in enumerate(engines):
        ratio = comparison.ratio(engine)
        colour, _ = STYLES[engine]
        if not np.isfinite(ratio.median):
            continue
        axes.barh(row, ratio.median, color=colour, height=0.55, alpha=0.85)
        axes.plot([ratio.low, ratio.high], [row, row], color="#171717", linewidth=2)
        axes.text(
            ratio.high,
            row,
            f"  {significant(ratio.median)}",
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
    axes.set_xlabel(f"throughput over {comparison.reference}, 95 % interval", fontsize=8)


def _label(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel(unit, fontsize=8)


def _from_zero(axes: Axes) -> None:
    """Show the axis from 0 up to a little over what is drawn on it so far."""
    tops = [np.nanmax(line.get_ydata()) for line in axes.lines if len(line.get_ydata())]  # type: ignore[arg-type]
    if tops:
        axes.set_ylim(0, 1.08 * max(tops))


def _smooth(
    step: np.ndarray, samples: np.ndarray, seconds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Throughput over groups of neighbouring steps: at most about `SMOOTH_POINTS` of them."""
    if len(step) == 0:
        return step, seconds
    group = max(1, len(step) // SMOOTH_POINTS)
    starts = np.arange(0, len(step), group)
    rate = np.add.reduceat(samples, starts) / np.add.reduceat(seconds, starts)
    return step[starts], rate


def _run_caption(run: Run) -> str:
    config = run.config
    return (
        f"{run.spec['model']} on {run.spec['dataset']}, batch {config.batch_size}, first "
        f"{config.warmup_steps} steps left out of throughput, {config.threads} threads; "
        f"{machine_sentence(run.spec.get('machine'))}"
    )


def _printable(text: str) -> str:
    """`text` without what no font has: a name that was read from a record may hold anything."""
    return "".join(mark if mark.isprintable() or mark == "\n" else " " for mark in text)


def _caption(figure: Figure, text: str) -> None:
    figure.supxlabel(_printable(text), fontsize=7, color="#525252", parse_math=False)


def plot_profile(profile: Profile) -> Figure:
    """The longest operators of each engine, by the parts of a step."""
    engines = profile.engines
    height = 1.3 + 0.24 * SHOWN_OPERATORS
    figure = StaticFigure(figsize=(6.2 * len(engines), height), layout="constrained")
    figure.suptitle(
        f"One step of {profile.model}", fontsize=11, fontweight="bold", parse_math=False
    )
    panels = figure.subplots(1, len(engines), squeeze=False)[0]
    for axes, each in zip(panels, engines, strict=True):
        _draw_operators(axes, each, by_operator(each))
    longest = max(axes.get_xlim()[1] for axes in panels)
    for axes in panels:
        axes.set_xlim(0, longest)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside upper right", ncols=len(labels))
    _caption(figure, profile.caption)
    return figure


def _draw_operators(axes: Axes, profile: EngineProfile, rows: Sequence[dict[str, Any]]) -> None:
    """Bars of the longest operators, and one of all the others."""
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
        f"{profile.engine}: {profile.wall_ms:.2f} ms a step\n"
        f"timed {profile.profiled_wall_ms:.2f} ms, in operators {profile.operators_ms:.2f} ms",
        fontsize=9,
        loc="left",
    )
    axes.set_xlabel("ms in one step; in brackets, runs of the operator", fontsize=8)


def _shortened(operator: str) -> str:
    """A name that leaves room for the bars: its beginning and its end."""
    if len(operator) <= LONGEST_NAME:
        return operator
    kept = LONGEST_NAME // 2
    return f"{operator[:kept]}…{operator[-kept:]}"
