"""Figures of runs, and the plots that figures of comparisons share with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.figures.engine_style import line_style
from workbench.figures.static_figure import caption, from_zero, label, make_figure
from workbench.machine.machine import machine_sentence
from workbench.runs.run_title import trained_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.runs.observed_run import ObservedRun
    from workbench.runs.record.reader import NewPoints

SMOOTH_POINTS = 60
"""Approximate number of points of a throughput curve, each the mean over adjacent steps."""


def plot_run(run: ObservedRun) -> Figure:
    """Plot loss, throughput and memory of one run over its steps."""
    return plot_runs([run])


def plot_runs(runs: Sequence[ObservedRun]) -> Figure:
    """Plot loss, throughput and memory of runs of one model by several engines."""
    engines = ", ".join(trained_by(run.spec) for run in runs)
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
    axes.plot(points.step, points.loss, **line_style(engine), linewidth=1.2, label=engine)
    label(axes, "Loss", "loss of the batch")


def draw_evaluations(axes: Axes, run: ObservedRun) -> None:
    evaluations = run.evaluations
    if not len(evaluations):
        return
    labelled = "test split" in axes.get_legend_handles_labels()[1]
    axes.plot(
        evaluations["step"],
        evaluations["loss"],
        "o",
        color=line_style(run.engine)["color"],
        markeredgecolor="#171717",
        markersize=4,
        label=None if labelled else "test split",
    )


def draw_throughput(axes: Axes, engine: str, points: NewPoints, unmeasured: int) -> None:
    measured = points.step > unmeasured
    step, rate = smooth_throughput(
        points.step[measured], points.samples[measured], points.seconds[measured]
    )
    axes.plot(step, rate, **line_style(engine), linewidth=1.2, label=engine)
    from_zero(axes)
    label(axes, "Throughput", "samples per second")


def draw_memory(axes: Axes, engine: str, points: NewPoints) -> None:
    sampled = np.isfinite(points.rss_bytes)
    axes.plot(
        points.step[sampled],
        points.rss_bytes[sampled] / 1e6,
        **line_style(engine),
        linewidth=1.2,
        label=engine,
    )
    for sizes in points.rank_rss_bytes:
        # A thin line for each process of several.
        axes.plot(points.step[sampled], sizes[sampled] / 1e6, **line_style(engine), linewidth=0.5)
    from_zero(axes)
    label(axes, "Memory", "resident set, MB")


def smooth_throughput(
    step: np.ndarray, samples: np.ndarray, seconds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean throughput over groups of adjacent steps, about `SMOOTH_POINTS` of them."""
    if len(step) == 0:
        return step, seconds
    group = max(1, len(step) // SMOOTH_POINTS)
    starts = np.arange(0, len(step), group)
    rate = np.add.reduceat(samples, starts) / np.add.reduceat(seconds, starts)
    return step[starts], rate


def _run_caption(run: ObservedRun) -> str:
    config = run.config
    return (
        f"{run.spec['model']} on {run.spec['dataset']}, batch {config.batch_size}, first "
        f"{config.warmup_steps} steps excluded from throughput, {config.threads} threads; "
        f"{machine_sentence(run.spec.get('machine'))}"
    )
