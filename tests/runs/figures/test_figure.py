"""The figure of runs draws what their records hold, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.runs.written import steps, write_run
from workbench.runs.figures.figure import MOST_MARKERS, UNMEASURED, plot_run, plot_runs
from workbench.widgets.charts import Charts


def line(axes: Axes, index: int = 0) -> tuple[list[float], list[float]]:
    drawn = axes.lines[index]
    return np.asarray(drawn.get_xdata()).tolist(), np.asarray(drawn.get_ydata()).tolist()


def labels(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def caption(figure: Figure) -> str:
    return figure.get_supxlabel()


def evaluation(step: int, loss: float) -> dict[str, Any]:
    return {"event": "evaluation", "step": step, "epoch": 1, "loss": loss, "accuracy": None}


def test_loss_throughput_and_memory_are_those_of_the_record() -> None:
    run = write_run(
        "a",
        [
            steps(1, [2.0], [4.5], rss_bytes=100_000_000),
            steps(2, [0.5, 0.25], [3.0, None], rss_bytes=300_000_000),
            evaluation(3, 0.75),
        ],
        {"status": "completed"},
        warmup_steps=1,
    )
    figure = plot_run(run)
    loss, throughput, memory = figure.axes
    np.testing.assert_equal(line(loss), ([1, 2, 3], [4.5, 3.0, np.nan]))
    assert line(loss, 1) == ([3], [0.75])
    assert line(throughput) == ([2, 3], [20.0, pytest.approx(20 / 0.75)])
    assert line(memory) == ([1, 3], [100.0, 300.0])
    assert labels(loss) == ["fake", "test split"]
    assert not throughput.texts
    assert loss.get_legend() is not None
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "loss of the batch", "samples/s", "resident set, MB",
    ]  # fmt: skip
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Loss", "Throughput, mean over 10 steps or 5 %", "Memory",
    ]  # fmt: skip
    for axes in (throughput, memory):
        assert axes.get_ylim()[0] == 0, "so that a length is a ratio"
    assert figure.get_suptitle() == "model-a on fake"
    assert caption(figure).startswith(
        "model-a on rows, batch 10, first step excluded from throughput, 1 thread; a processor"
    )


@pytest.mark.parametrize(
    ("losses", "scale"), [([4.0, 2.0], "linear"), ([4.0, 2.0e9, None], "log"), ([], "linear")]
)
def test_a_loss_that_explodes_is_drawn_as_in_the_page(
    losses: list[float | None], scale: str
) -> None:
    run = write_run("a", [steps(1, [1.0] * len(losses), losses)], {"status": "failed"})
    assert plot_run(run).axes[0].get_yscale() == scale


def test_the_metric_of_evaluations_has_a_panel() -> None:
    events = [
        steps(1, [1.0, 1.0], [4.0, 3.0]),
        evaluation(1, 2.5) | {"accuracy": 0.25},
        evaluation(2, 1.5) | {"accuracy": 0.75},
    ]
    accuracy = plot_run(write_run("a", events, {"status": "completed"})).axes[3]
    assert line(accuracy) == ([1, 2], [25, 75])
    assert accuracy.get_title(loc="left") == "Accuracy"
    assert accuracy.get_ylabel() == "% of the test split"


def test_a_single_curve_needs_no_legend() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"}, warmup_steps=0)
    loss = plot_run(run).axes[0]
    assert labels(loss) == ["fake"]
    assert loss.get_legend() is None


def test_a_caption_is_silent_on_excluded_steps_where_none_are() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"}, warmup_steps=0)
    assert caption(plot_run(run)).startswith("model-a on rows, batch 10, 1 thread; ")


def test_a_run_that_was_measured_on_a_busy_machine_says_so() -> None:
    load = {"event": "load", "step": 3, "wall_s": 10.0, "other_s": 12.0, "cores": 2}
    run = write_run("a", [steps(1, [0.1] * 3), load], {"status": "completed"}, warmup_steps=0)
    figure = plot_run(run)
    assert figure.get_supxlabel().endswith(
        "\nThe machine was busy while fake was measured (other programs used 1.2 of 2 cores): do "
        "not trust its throughput."
    )


def test_runs_are_drawn_together_under_a_caption_of_what_they_share() -> None:
    runs = {
        engine: write_run(
            engine, [steps(1, [1.0]), evaluation(1, 0.5)], {"status": "completed"}, engine=engine
        )
        for engine in ("pytorch", "ondevice")
    }
    figure = plot_runs(runs)
    assert figure.get_suptitle() == "model-pytorch, model-ondevice on pytorch, ondevice"
    assert caption(figure).startswith("model-pytorch on rows; model-ondevice on rows, batch 10, ")
    loss = figure.axes[0]
    assert labels(loss) == ["pytorch", "test split", "ondevice"], "the test split is named once"
    assert len(loss.lines) == 4
    colours = [drawn.get_color() for drawn in loss.lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]


def test_many_names_stand_below_the_memory_and_settings_that_differ_are_not_told() -> None:
    runs = {
        f"run {size}": write_run("a", [steps(1, [1.0])], {"status": "completed"}, batch_size=size)
        for size in (5, 6, 7, 8, 10)
    }
    figure = plot_runs(runs)
    loss, _, memory = figure.axes
    assert (loss.get_legend() is None, len(memory.get_legend().get_texts())) == (True, 5)
    assert caption(figure).startswith("model-a on rows, first ")


def test_runs_of_one_engine_have_lines_of_their_own_and_names_are_shown_as_they_are() -> None:
    names = ["$\\no formula$", "_hidden"]
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"}, engine="pytorch")
    figure = plot_runs(dict.fromkeys(names, run))
    assert figure.get_suptitle() == "model-a on pytorch: 2 runs"
    loss = figure.axes[0]
    assert len({drawn.get_color() for drawn in loss.lines}) == 2
    figure.draw_without_rendering()  # a formula that is none would raise
    legend = loss.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["\\$\\no formula\\$", " _hidden"]


def test_a_run_without_steps_has_empty_panels() -> None:
    figure = plot_run(write_run("a", [], {"status": "failed"}))
    assert [line(axes) for axes in figure.axes] == [([], [])] * 3


def test_one_loss_before_a_nan_is_seen_and_steps_are_whole_numbers() -> None:
    run = write_run("a", [steps(1, [1.0, 1.0], [2.5, None])], {"status": "failed"})
    loss, _, memory = plot_run(run).axes
    assert loss.lines[0].get_marker() == "."
    for axes in (loss, memory):
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert ticks == [round(tick) for tick in ticks]


@pytest.mark.parametrize(("steps_taken", "drawn"), [(20, 15), (605, 600), (1505, 750)])
def test_throughput_is_drawn_as_in_the_charts(steps_taken: int, drawn: int) -> None:
    """Without the warm-up; of many steps some are left out, but not the last."""
    seconds = np.random.default_rng(0).uniform(0.5, 1.5, steps_taken)
    seconds[:5] = 30.0
    run = write_run("a", [steps(1, seconds.tolist())], {"status": "completed"}, warmup_steps=5)
    step, rate = line(plot_run(run).axes[1])
    assert (len(step), step[-1]) == (drawn, steps_taken)
    charts = Charts()
    charts.reset(["fake"])
    charts.add_run("fake", run)
    shown = [charts.recording("fake").at(int(each))["samples_per_s"] for each in step]
    np.testing.assert_allclose(rate, shown, rtol=1e-9)


def test_a_panel_without_a_point_says_so_and_has_no_numbers() -> None:
    run = write_run("a", [steps(1, [2.0], [4.5])], {"status": "completed"}, warmup_steps=1)
    _, throughput, _ = plot_run(run).axes
    assert [text.get_text() for text in throughput.texts] == [UNMEASURED]
    assert not throughput.get_yticks().size


def test_many_evaluations_are_a_line_and_no_band_of_markers() -> None:
    for count, marker in ((MOST_MARKERS, "o"), (MOST_MARKERS + 1, "None")):
        evaluations = [evaluation(step, 0.5) for step in range(1, count + 1)]
        run = write_run("a", [steps(1, [1.0] * count), *evaluations], {"status": "completed"})
        drawn = plot_run(run).axes[0].lines[1]
        assert len(np.asarray(drawn.get_xdata())) == count
        assert drawn.get_marker() == marker
        assert (drawn.get_linestyle() == "-") == (marker == "None")
