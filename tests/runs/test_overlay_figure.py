"""The figure of runs over each other: curves are told by colour and name."""

from __future__ import annotations

import numpy as np

from tests.runs.written import steps, write_run
from workbench.runs import Run
from workbench.runs.overlay_figure import plot_overlay


def recorded(label: str, step_s: float, losses: list[float | None]) -> Run:
    seconds = [10 * step_s] + [step_s] * (len(losses) - 1)
    return write_run(
        label, [steps(1, seconds, losses)], {"status": "completed", "steps": 3}, warmup_steps=1
    )


def test_each_run_has_a_curve_of_its_own() -> None:
    runs = [
        recorded("one", 0.5, [2.0, 1.5, 1.0, 0.75]), recorded("two", 0.25, [3.0, 2.5, 2.0]),
    ]  # fmt: skip
    figure = plot_overlay(runs)
    loss, throughput, memory = figure.axes[:3]
    drawn = [np.asarray(line.get_ydata()).tolist() for line in loss.lines]
    assert drawn == [[2.0, 1.5, 1.0, 0.75], [3.0, 2.5, 2.0]]
    assert [np.asarray(line.get_xdata()).tolist() for line in loss.lines] == [
        [1, 2, 3, 4],
        [1, 2, 3],
    ]
    styles = {(line.get_color(), line.get_linestyle()) for line in loss.lines}
    assert len(styles) == 2
    rates = [line for line in throughput.lines if len(np.asarray(line.get_xdata())) > 1]
    assert [np.asarray(line.get_xdata()).min() for line in rates[:2]] == [2, 2], "warmed up"
    assert [line.get_color() for line in rates[:2]] == [line.get_color() for line in loss.lines]
    assert len(memory.lines) >= 2
    assert figure.get_suptitle().startswith("2 runs")
