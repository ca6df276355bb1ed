"""Figures of runs, and the plots that figures of comparisons share with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.chart_series.evaluations import Evaluations, Metric
from workbench.chart_series.scale import LOG_SPREAD, loss_span, spread
from workbench.chart_series.smoothing import (
    MIN_WINDOW,
    NO_WARM_UP,
    WINDOW_SHARE,
    WarmUp,
    rate_window,
    trailing_rate,
)
from workbench.display.quantities import thread_count
from workbench.figures.engine_style import line_styles
from workbench.figures.static_figure import (
    caption,
    from_zero,
    label,
    legend_label,
    make_figure,
    make_logarithmic,
    note_if_empty,
    value_text,
)
from workbench.machine.machine import machine_sentence
from workbench.runs.record.disturbances import disturbances
from workbench.runs.record.history import evaluations_frame
from workbench.runs.run_title import trained_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.run_folder.run_reader import NewPoints
    from workbench.runs.observed_run import ObservedRun

MOST_POINTS = 1000
"""Largest number of points of a throughput curve."""
SHARE = f"{100 * WINDOW_SHARE:.0f} %"
MOST_MARKERS = 100
"""Number of evaluations up to which each has a marker."""
UNMEASURED = "no step after those that are\nexcluded from throughput"
"""In place of a throughput curve without a point."""


TEST_SPLIT = "test split"
MOST_IN_PANEL = 4
"""Largest number of entries of a legend that has its place in the panel of the loss."""


def plot_run(run: ObservedRun) -> Figure:
    """Plot a run over its steps, see `plot_runs`."""
    return plot_runs({run.engine: run})


def plot_runs(runs: Mapping[str, ObservedRun]) -> Figure:
    """Plot loss, throughput, memory and, where they were evaluated by one, a metric of runs.

    Args:
        runs: by the names of their curves.
    """
    read = {name: run.follow().poll() for name, run in runs.items()}
    evaluations = {name: _evaluations(points) for name, points in read.items()}
    metric = next((each.metric for each in evaluations.values() if each.metric), None)
    engines = ", ".join(dict.fromkeys(trained_by(run.spec) for run in runs.values()))
    models = ", ".join(dict.fromkeys(str(run.spec["model"]) for run in runs.values()))
    several = f": {len(runs)} runs" if len(runs) > len(engines.split(", ")) else ""
    title = f"{models} on {engines}{several}"
    figure, panels = make_figure(3, title) if metric is None else make_figure(2, title, rows=2)
    loss, throughput, memory, *_ = panels
    styles = line_styles({name: run.engine for name, run in runs.items()})
    results = {}
    for name, run in runs.items():
        points, style = read[name], styles[name]
        results[name] = run.step_results(points)
        draw_loss(loss, name, style, points)
        draw_evaluations(loss, points, style)
        draw_throughput(throughput, name, style, points, run.config.warmup_steps)
        draw_memory(memory, name, style, points)
        if metric is not None:
            draw_metric(panels[3], style, metric, evaluations[name])
    if _log_loss(read, evaluations):
        make_logarithmic(loss)
    _add_legend(loss, memory)
    note_if_empty(throughput, UNMEASURED)
    caption(
        figure,
        "\n".join(filter(None, [_caption([*runs.values()]), disturbances(results)])),
    )
    return figure


def _add_legend(loss: Axes, memory: Axes) -> None:
    """The runs, and last what a point is. Many names would cover the losses; below the memory,
    which is drawn from zero, there is room for them."""
    handles, labels = loss.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda place: labels[place] == TEST_SPLIT)
    entries = [handles[place] for place in order], [labels[place] for place in order]
    if len(labels) > MOST_IN_PANEL:
        memory.legend(*entries, fontsize=7, loc="center")
    elif len(labels) > 1:
        loss.legend(*entries, fontsize=8)


def _log_loss(read: Mapping[str, NewPoints], evaluations: Mapping[str, Evaluations]) -> bool:
    """Whether the page would draw the losses on a logarithmic axis."""
    spans = [loss_span(points.loss, evaluations[name].array[1]) for name, points in read.items()]
    return max(spread(points.loss for points in read.values()), *spans) > LOG_SPREAD


def draw_loss(axes: Axes, name: str, style: Mapping[str, Any], points: NewPoints) -> None:
    marker = "." if np.isfinite(points.loss).sum() == 1 else None  # a line needs two
    name = legend_label(name)
    axes.plot(points.step, points.loss, **style, marker=marker, linewidth=1.2, label=name)
    label(axes, "Loss", "loss of the batch")


def draw_evaluations(axes: Axes, points: NewPoints, style: Mapping[str, Any]) -> None:
    evaluations = evaluations_frame(points)
    if not len(evaluations):
        return
    # Many markers would be one thick band.
    few = len(evaluations) <= MOST_MARKERS
    labelled = TEST_SPLIT in axes.get_legend_handles_labels()[1]
    axes.plot(
        evaluations["step"],
        evaluations["loss"],
        "o" if few else "-",
        linewidth=0.8,
        color=style["color"],
        markeredgecolor="#171717",
        markersize=4,
        zorder=4,
        label=None if labelled else TEST_SPLIT,
    )


def _evaluations(points: NewPoints) -> Evaluations:
    found = Evaluations()
    found.add(points.events)
    return found


def draw_metric(
    axes: Axes, style: Mapping[str, Any], metric: Metric, evaluations: Evaluations
) -> None:
    step, values = evaluations.of(metric)
    marker = "." if len(step) <= MOST_MARKERS else None
    axes.plot(step, values, **style, marker=marker, linewidth=1.2)
    label(axes, metric.title, metric.unit)


def draw_throughput(
    axes: Axes, name: str, style: Mapping[str, Any], points: NewPoints, unmeasured: int
) -> None:
    axes.plot(
        *throughput_curve(points, unmeasured), **style, linewidth=1.2, label=legend_label(name)
    )
    from_zero(axes)
    label(axes, f"Throughput, mean over {MIN_WINDOW} steps or {SHARE}", "samples/s")
    axes.yaxis.set_major_formatter(lambda value, _: value_text(value))


def draw_memory(axes: Axes, name: str, style: Mapping[str, Any], points: NewPoints) -> None:
    sampled = np.isfinite(points.rss_bytes)
    memory = points.rss_bytes[sampled] / 1e6
    axes.plot(points.step[sampled], memory, **style, linewidth=1.2, label=legend_label(name))
    for sizes in points.rank_rss_bytes:
        # A thin line for each process of several.
        axes.plot(points.step[sampled], sizes[sampled] / 1e6, **style, linewidth=0.5)
    from_zero(axes)
    label(axes, "Memory", "resident set, MB")


def throughput_curve(points: NewPoints, warmup_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps after the warm-up and the mean throughput up to each, as in the charts; of many steps
    some."""
    step, seconds, samples = points.step, np.cumsum(points.seconds), np.cumsum(points.samples)
    first = int(np.searchsorted(step, warmup_steps, "right"))
    warm_up = WarmUp(warmup_steps, seconds[first - 1], samples[first - 1]) if first else NO_WARM_UP
    rate = trailing_rate(step, seconds, samples, rate_window(len(step)), warm_up)
    step, rate = step[first:], rate[first:]
    every = max(1, -(-len(step) // MOST_POINTS))
    return step[::-every][::-1], rate[::-every][::-1]


def _caption(runs: Sequence[ObservedRun]) -> str:
    """Model, dataset and machine, and those settings that are the same in all runs."""
    what = [f"{run.spec['model']} on {run.spec['dataset']}" for run in runs]
    machines = [machine_sentence(run.spec.get("machine")) for run in runs]
    settings = []
    for texts in zip(*map(_settings, runs), strict=True):
        settings += [texts[0]] if texts[0] and len({*texts}) == 1 else []
    told = ", ".join(["; ".join(dict.fromkeys(what)), *settings])
    return "; ".join([told, *dict.fromkeys(machines)])


def _settings(run: ObservedRun) -> tuple[str, str, str]:
    config = run.config
    first = "first step" if config.warmup_steps == 1 else f"first {config.warmup_steps} steps"
    return (
        f"batch {config.batch_size}",
        f"{first} excluded from throughput" if config.warmup_steps else "",
        thread_count(config.threads_of_a_process, config.processes),
    )
