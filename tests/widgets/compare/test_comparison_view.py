"""The view of a comparison, of recorded runs."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import until
from tests.runs.written import DONE, append, steps, write_run
from workbench.compare import Comparison
from workbench.compare.lockstep import make_plan
from workbench.figures.curve_style import curve_styles
from workbench.machine.load import Load
from workbench.widgets.compare.comparison_view import PERIOD_S, READING
from workbench.widgets.compare.result_bars import ResultBars

STARTED = {"event": "built", "rss_before_bytes": 1}


def test_recorded_runs_are_read_once_and_nothing_is_said_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [write_run(label, [steps(1, [0.1] * 20)], DONE) for label in ("a", "b")]
    view = wb.ComparisonView()
    try:
        said: list[str] = []
        view.ratios.observe(lambda change: said.append(change.new), "verdict")
        hints: list[tuple[str, list[str]]] = []
        view.table.observe(
            lambda change: hints.append((view.charts.hint, view.differences.runs)), "hint"
        )
        filled: list[Any] = []
        fill = view.table.show

        def show(comparison: Any, styles: Any) -> None:
            filled.append(comparison)
            fill(comparison, styles)

        monkeypatch.setattr(view.table, "show", show)
        awaited: list[int] = []
        view.ratios.observe(lambda change: awaited.append(change.new), "awaited")
        view.show(*runs)
        until(lambda: len(said) == 2)
        assert awaited == [2, 0], "the bars have their place, until they are there"
        time.sleep(3 * PERIOD_S)  # in which it would be read again
        assert said[0] == READING
        assert hints[0] == (READING, []), "what differs is not known before the runs are read"
        assert len(view.differences.runs) == 2
        assert "Samples per second" in said[1]
        assert filled == [view.comparison]
        rates = {row["engine"]: row["cells"]["samples_per_s"] for row in view.table.rows}
        assert view.charts.rates == rates, "the charts have the throughput of the table"
        assert view.charts.rates_note == "load not known, median over the run"
        assert view.table.columns[0]["unit"] == "samples/s, load not known, median over the run"
        assert view.charts.verdict == said[1], "a saved picture contains it"
        view.clear("Deleted.")
        until(lambda: said[-1] == "Deleted.")
        assert view.charts.verdict == ""
    finally:
        view.close()


def test_bars_take_the_place_that_was_kept_for_them() -> None:
    runs = [write_run(label, [steps(1, [0.1] * 20)], DONE) for label in ("a", "a")]
    bars = ResultBars()
    bars.clear(READING, awaited=2)
    held: dict[str, bool] = {}
    names = ["awaited", "bars", "verdict"]
    bars.observe(lambda change: held.update({change.name: bars._holding_sync}), names)
    compared = wb.compare_runs(runs)
    bars.show(compared, curve_styles(dict.fromkeys(compared.runs, "fake")))
    assert len(bars.bars) == 2
    assert held == dict.fromkeys(names, True), "in one message: nothing moves"


def test_of_recorded_runs_without_a_ratio_nothing_is_said_to_start() -> None:
    ended = write_run("a", [steps(1, [0.1] * 20)], DONE)
    running = write_run("b", [STARTED, steps(1, [0.1] * 20)])
    bars = ResultBars()
    compared = wb.compare_runs([ended, running])
    bars.show(compared, curve_styles(dict.fromkeys(compared.runs, "fake")))
    assert "different models" in bars.verdict
    assert "is still in progress" in bars.verdict


def test_the_bars_of_runs_with_other_settings_are_of_their_losses() -> None:
    settings = {"engine": "fake", "warmup_steps": 0}
    events = [[steps(1, [0.1] * 2, [3.0, loss])] for loss in (2.0, 0.5)]
    slow = write_run("a", events[0], DONE, **settings)
    good = write_run("a", events[1], DONE, learning_rate=0.5, **settings)
    comparison = wb.compare_runs([slow, good])
    bars = ResultBars()
    bars.show(comparison, curve_styles(dict.fromkeys(comparison.runs, "fake")))
    found = [(bar["label"], bar["text"], bar["value"]) for bar in bars.bars]
    assert found == [
        ("fake · lr 0.5", "0.5000", 0.5),
        ("fake · lr 0.001", "2.0000, 4.00×", 2.0),  # noqa: RUF001
    ]
    assert bars.quantity == "Loss of the last batch, and its ratio to the lowest"
    assert (bars.reference, bars.badge_line) == ("", 2)
    assert bars.summary == "lowest loss of the last batch 0.5000: lr 0.5"


def test_a_comparison_says_what_it_waits_for_and_that_its_ratios_are_so_far() -> None:
    lockstep: Any = SimpleNamespace(alive=True, paused=False, runs={}, error=None, phase="")
    made = Comparison("c", make_plan(40, 5), ["pytorch", "fake"], lockstep=lockstep)
    bars = ResultBars()
    bars.show(made, {})
    assert bars.verdict.startswith("The engines are starting")
    lockstep.phase = "waiting for a quiet machine: quiet for 0.5 s"
    bars.show(made, {})
    assert bars.verdict == "Waiting for a quiet machine: quiet for 0.5 s."
    taken = [STARTED, steps(1, [0.1] * 10)]
    lockstep.runs = {name: write_run("a", taken, engine=name, steps=40) for name in made.engines}
    lockstep.phase = ""
    styles = curve_styles(dict.fromkeys(made.engines, "fake"))
    bars.show(made, styles)
    assert (bars.bars, bars.awaited) == ([], 2)
    assert bars.verdict.startswith("The first rounds are in progress"), "of five rounds"
    made._loads = [Load(10.0, 0.0, 2)]
    for run in made.runs.values():
        append(run.folder.events_path, [steps(11, [0.1] * 20)])
    bars.show(made, styles)
    assert len(bars.bars) == 2
    assert bars.verdict.endswith("these are the figures so far.")
    assert (bars.badge, bars.level) == ("so far", "unknown"), "not quiet: it has not ended"
    made._loads = [Load(10.0, 9.0, 2)]
    bars.show(made, styles)
    assert (bars.badge, bars.level) == ("machine was busy", "busy")


def test_where_no_interval_will_come_ratios_are_shown_at_once() -> None:
    """Of a comparison of few rounds, or after an engine has failed."""
    lockstep: Any = SimpleNamespace(alive=True, paused=False, runs={}, error=None, phase="")
    few = Comparison("c", make_plan(6, 2), ["pytorch", "fake"], lockstep=lockstep)
    taken = [STARTED, steps(1, [0.1] * 4)]
    lockstep.runs = {name: write_run("a", taken, engine=name, steps=6) for name in few.engines}
    bars = ResultBars()
    bars.show(few, curve_styles(dict.fromkeys(few.engines, "fake")))
    assert len(bars.bars) == 2
    many = Comparison("c", make_plan(40, 5), ["pytorch", "a", "b"], lockstep=lockstep)
    taken = [STARTED, steps(1, [0.1] * 10)]
    lockstep.runs = {name: write_run("a", taken, engine="fake", steps=40) for name in many.engines}
    lockstep.runs["pytorch"] = write_run("a", taken, {"status": "stopped"}, steps=40)
    bars.show(many, curve_styles(dict.fromkeys(many.engines, "fake")))
    assert len(bars.bars) == 3


def test_a_comparison_with_one_engine_left_says_that_no_ratio_will_come() -> None:
    runs = {
        "pytorch": write_run("a", [steps(1, [0.1] * 5)], engine="pytorch", steps=40),
        "fake": write_run(
            "a",
            [],
            {
                "status": "failed",
                "error": {"type": "RunError", "message": "It died.", "traceback": ""},
            },
            steps=40,
        ),
    }
    bars = ResultBars()
    made = Comparison("c", make_plan(40, 5), [*runs], runs=runs)
    bars.show(made, {})
    assert bars.verdict == (
        "There is no ratio, as fewer than two engines completed a round. fake failed before "
        "its first step."
    )
