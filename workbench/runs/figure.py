"""The figure of runs, and the curves that a figure of several engines is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.figures.engine_style import STYLES
from workbench.figures.static_figure import caption, from_zero, label, make_figure
from workbench.machine.machine import machine_sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.runs.reader import NewPoints
    from workbench.runs.run import Run

SMOOTH_POINTS = 60
"""Throughput is drawn as at most about this many means of neighbouring steps."""


def plot_run(run: Run) -> Figure:
    """Loss, throughput and memory of one run, over its steps."""
    return plot_runs([run])


def plot_runs(runs: Sequence[Run]) -> Figure:
    """Loss, throughput and memory of runs of one model by different engines, over their steps."""
    engines = ", ".join(run.engine for run in runs)
    figure, (loss, throughput, memory) = make_figure(3, f"{runs[0].spec['model']} on {engines}")
    for run in runs:
        points = run.follow().poll()
        draw_loss(loss, run.engine, points)
        draw_evaluations(loss, run)
        draw_throughput(throughput, run.engine, points, run.config.warmup_steps)
        draw_memory(memory, run.engine, points)
    if len(loss.get_legend_handles_labels()[0]) > 1:
        loss.legend(fontsize=8)
    caption(figure, _run_caption(runs[0]))
    return figure


def draw_loss(axes: Axes, engine: str, points: NewPoints) -> None:
    colour, dash = STYLES[engine]
    axes.plot(points.step, points.loss, color=colour, linestyle=dash, linewidth=1.2, label=engine)
    label(axes, "Loss", "loss of the batch")


def draw_evaluations(axes: Axes, run: Run) -> None:
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


def draw_throughput(axes: Axes, engine: str, points: NewPoints, unmeasured: int) -> None:
    colour, dash = STYLES[engine]
    measured = points.step > unmeasured
    step, rate = _smooth(points.step[measured], points.samples[measured], points.seconds[measured])
    axes.plot(step, rate, color=colour, linestyle=dash, linewidth=1.2, label=engine)
    from_zero(axes)
    label(axes, "Throughput", "samples per second")


def draw_memory(axes: Axes, engine: str, points: NewPoints) -> None:
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
    from_zero(axes)
    label(axes, "Memory", "resident set, MB")


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
