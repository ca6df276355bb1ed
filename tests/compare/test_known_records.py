"""A comparison of runs whose records are known to the last digit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from tests.runs.written import LAUNCHED, steps, write_run
from workbench.compare import Comparison, compare_runs, load_comparison
from workbench.compare.lockstep import LockstepPlan, make_plan
from workbench.compare.record import ComparisonRecord
from workbench.compare.rounds.statistics import largest_difference, ratio
from workbench.errors import RunError
from workbench.machine.load import Load
from workbench.run_folder.events import EventReader
from workbench.runs import Run

PLAN = make_plan(steps=62, warmup_steps=2)
"""Twenty rounds of three steps."""


def recorded(
    engine: str, burst: list[float], losses: list[float], status: str = "completed", **summary: Any
) -> Run:
    """A run whose every round took `burst` seconds, after a warm-up of long steps."""
    warmup = [30.0, 20.0]
    seconds = warmup + burst * 20
    return write_run(
        engine,
        [
            steps(1, seconds[:1], losses[:1], time=LAUNCHED + 4.5),
            steps(2, seconds[1:], losses[1:], time=LAUNCHED + 99),
        ],
        {"status": status, **summary},
        engine=engine,
        steps=62,
    )


@pytest.fixture
def comparison() -> Comparison:
    """`ondevice` takes 0.75 s where `pytorch` takes 1.5, and its loss is off by 0.25 once."""
    losses = [2.0 - step / 100 for step in range(62)]
    other = [loss - 0.25 * (step == 40) for step, loss in enumerate(losses)]
    runs = {
        "ondevice": recorded(
            "ondevice", [0.125, 0.125, 0.5], other,
            peak_rss_bytes=300_000_000, rss_before_bytes=120_000_000,
        ),
        "pytorch": recorded(
            "pytorch", [0.5, 0.5, 0.5], losses,
            peak_rss_bytes=500_000_000, rss_before_bytes=100_000_000,
        ),
    }  # fmt: skip
    return Comparison("c", PLAN, ["ondevice", "pytorch"], runs=runs)


def test_the_plan_is_a_warm_up_and_twenty_rounds() -> None:
    assert PLAN[:3] == (2, 3, 62)
    assert make_plan(10, 100)[:3] == (5, 1, 10)
    assert make_plan(1, 5)[:3] == (0, 1, 1)
    assert make_plan(205, 5)[:3] == (5, 10, 205)
    assert [make_plan(5 + measured, 5).burst for measured in (39, 40)] == [1, 2]


def test_the_table_is_the_records(comparison: Comparison) -> None:
    table = comparison.table()
    expected = {
        "samples_per_s": [40.0, 20.0],
        "ratio": [2.0, 1.0],
        "ratio_low": [2.0, 1.0],
        "ratio_high": [2.0, 1.0],
        "peak_memory_mb": [300.0, 500.0],
        "memory_growth_mb": [180.0, 400.0],
        "startup_s": [4.5, 4.5],
        "final_loss": [2.0 - 61 / 100] * 2,
        "max_loss_difference": [0.25, 0.0],
    }
    for column, values in expected.items():
        np.testing.assert_allclose(table[column], values, rtol=1e-9, atol=1e-15, err_msg=column)
    assert list(table["status"]) == ["completed", "completed"]
    assert list(table.index) == ["ondevice", "pytorch"]


def test_throughput_and_ratio_are_of_the_same_rounds(comparison: Comparison) -> None:
    table = comparison.table()
    rounds = {engine: comparison.rounds(engine) for engine in comparison.engines}
    np.testing.assert_allclose(rounds["ondevice"], [40.0] * 20, rtol=1e-9)
    np.testing.assert_allclose(rounds["pytorch"], [20.0] * 20, rtol=1e-9)
    shown = table["samples_per_s"]["ondevice"] / table["samples_per_s"]["pytorch"]
    assert shown == pytest.approx(table["ratio"]["ondevice"], rel=1e-9)


def test_the_reference_is_pytorch_or_the_first(comparison: Comparison) -> None:
    assert comparison.reference == "pytorch"
    runs = comparison.runs
    alone = Comparison("c", PLAN, ["ondevice"], runs={"ondevice": runs["ondevice"]})
    assert alone.reference == "ondevice"
    assert alone.progress == (62, 62)


def test_a_single_engine_has_no_ratio_to_itself(comparison: Comparison) -> None:
    alone = Comparison("c", PLAN, ["ondevice"], runs={"ondevice": comparison.runs["ondevice"]})
    row = alone.table().loc["ondevice"]
    assert row["samples_per_s"] == pytest.approx(40.0)
    assert row["rounds"] == 20
    assert row[["ratio", "ratio_low", "ratio_high"]].isna().all()
    assert alone.caption.endswith(". There is no ratio, as there is only one engine.")
    assert alone.plot().get_suptitle() == "ondevice"


def test_few_rounds_give_ratios_and_no_interval(comparison: Comparison) -> None:
    few = Comparison("c", LockstepPlan(2, 12, 62), comparison.engines, runs=comparison.runs)
    row = few.table().loc["ondevice"]
    assert row["rounds"] == 5
    assert row["ratio"] == pytest.approx(2.0)
    assert row[["ratio_low", "ratio_high"]].isna().all()
    assert few.caption.endswith(
        ". There are too few rounds for a confidence interval; at least 6 are needed."
    )
    assert few.plot().axes
    assert "interval" not in comparison.caption


def test_progress_is_of_all_engines(comparison: Comparison) -> None:
    assert comparison.progress == (124, 124)
    waiting = Comparison("c", PLAN, ["pytorch", "ondevice"], runs={})
    assert waiting.progress == (0, 124)


def test_an_engine_that_has_not_begun_has_a_row_without_figures(comparison: Comparison) -> None:
    runs = {"ondevice": comparison.runs["ondevice"]}
    waiting = Comparison("c", PLAN, ["ondevice", "pytorch"], runs=runs)
    table = waiting.table()
    assert table.loc["pytorch", "status"] == "not started"
    assert math.isnan(table.loc["pytorch", "samples_per_s"])
    assert math.isnan(table.loc["ondevice", "ratio"])
    assert math.isnan(table.loc["ondevice", "max_loss_difference"])
    assert table.loc["ondevice", "samples_per_s"] == pytest.approx(40.0)


def test_a_run_without_steps_or_memory_has_no_figures() -> None:
    run = write_run("pytorch", [], {"status": "failed"}, engine="pytorch", steps=62)
    row = Comparison("c", PLAN, ["pytorch"], runs={"pytorch": run}).table().loc["pytorch"]
    for column in ("samples_per_s", "ratio", "peak_memory_mb", "memory_growth_mb", "final_loss"):
        assert math.isnan(row[column]), column
    assert row["status"] == "failed"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("completed", "completed"), "completed"),
        (("completed", "failed"), "completed"),
        (("failed", "failed"), "failed"),
        (("completed", "stopped"), "stopped"),
        (("failed", "stopped"), "stopped"),
    ],
)
def test_the_status_is_made_of_those_of_the_runs(states: tuple[str, str], expected: str) -> None:
    error = {"type": "E", "message": "It broke.", "traceback": ""}
    runs = {
        engine: recorded(
            engine, [1.0] * 3, [1.0] * 62, state, error=error if state == "failed" else None
        )
        for engine, state in zip(("pytorch", "ondevice"), states, strict=True)
    }
    comparison = Comparison("c", PLAN, list(runs), runs=runs)
    assert (comparison.status, comparison.phase, comparison.ended) == (expected, expected, True)
    failed = [engine for engine, state in zip(runs, states, strict=True) if state == "failed"]
    assert comparison.errors == dict.fromkeys(failed, "It broke.")
    assert repr(comparison) == f"<Comparison c: {expected}, pytorch, ondevice>"
    if expected == "failed":
        with pytest.raises(RunError, match=r"(?s)comparison c failed.*pytorch: It broke"):
            comparison.wait()
    else:
        assert comparison.wait() is comparison


def test_the_caption_names_the_source_of_the_numbers(comparison: Comparison) -> None:
    caption = comparison.caption
    for part in ("model-ondevice on rows", "batch 10", "62 steps", "1 thread", "a processor"):
        assert part in caption
    assert "first 2 not measured" in caption


def test_the_interval_is_of_the_median_and_holds_ninety_five_percent() -> None:
    ratios = np.arange(1.0, 22.0)
    found = ratio(ratios * 3, np.full(21, 3.0))
    assert found.median == 11.0
    # The exact percentile interval of the bootstrapped median, from the binomial distribution.
    assert found.low == pytest.approx(6.0, abs=1.0)
    assert found.high == pytest.approx(16.0, abs=1.0)
    assert ratio(ratios * 3, np.full(21, 3.0)) == found
    finer = ratio(np.arange(1.0, 302.0), np.ones(301))
    for bound, share in ((finer.low, 0.025), (finer.high, 0.975)):
        # The share of resampled medians up to `bound`: at least 151 of 301 draws are.
        assert binom.sf(150, 301, bound / 301) == pytest.approx(share, abs=0.005)
    shorter = ratio(np.array([2.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    assert shorter.median == 3.0
    assert ratio(np.array([5.0]), np.array([2.0])).median == 2.5


def test_the_largest_difference_has_no_sign() -> None:
    one, other = np.array([1.0, 2.0, 9.0]), np.array([1.5, 1.0])
    assert largest_difference(one, other) == largest_difference(other, one) == 1.0
    assert largest_difference(np.array([3.0]), np.array([1.0])) == 2.0


def test_no_event_is_read_twice_for_any_number_of_tables(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    poll = EventReader.poll

    def counted(self: EventReader) -> Any:
        events = poll(self)
        read.append(sum(event["event"] == "steps" for event in events))
        return events

    monkeypatch.setattr(EventReader, "poll", counted)
    first = comparison.table()
    once = sum(read)
    assert once > 0
    pd.testing.assert_frame_equal(comparison.table(), first)
    comparison.verdict()
    assert sum(read) == once


def test_runs_of_one_comparison_keep_its_verdict(comparison: Comparison) -> None:
    record = ComparisonRecord(PLAN, comparison.engines)
    for engine, run in comparison.runs.items():
        record.add_run(engine, run.id)
    for _ in range(20):
        record.add_load(Load(10.0, 13.0, 2))
    whole = load_comparison(record.id)
    again = compare_runs([*comparison.runs.values()])
    names = dict(zip(again.runs, whole.runs, strict=True))
    sentence = again.verdict().sentence
    for name, engine in names.items():
        sentence = sentence.replace(name, engine)
    assert again.verdict()._replace(sentence=sentence) == whole.verdict()
    assert again.badge.startswith("Do not trust: ")
    assert "2.0× (2.0 to 2.0)" in again.badge  # noqa: RUF001
    columns = ["ratio", "ratio_low", "ratio_high", "rounds", "samples_per_s"]
    np.testing.assert_array_equal(again.table()[columns], whole.table()[columns])
    other = recorded("fake", [0.5, 0.5, 0.5], [1.0] * 62)
    apart = compare_runs([*comparison.runs.values(), other])
    assert apart.table()["ratio_low"].isna().all(), "one of them was measured alone"
    resumed = comparison.runs["ondevice"]
    resumed.folder.write_spec({**resumed.spec, "resumed_from": 62})
    since = compare_runs([run.id for run in comparison.runs.values()])
    assert since.table()["ratio_low"].isna().all(), "its later steps were measured alone"
