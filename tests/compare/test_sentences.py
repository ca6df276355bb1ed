"""Numbers and words of a comparison, each rule at its boundary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.runs.written import LAUNCHED, append, steps, write_run
from workbench.compare import Comparison, compare_runs
from workbench.compare.comparison_row import measured_row
from workbench.compare.differences import settings_of
from workbench.compare.lockstep import LockstepPlan
from workbench.compare.recorded_runs.recorded_row import NOT_LOCKSTEP
from workbench.compare.rounds.recorded_steps import NONE_YET, RecordedSteps
from workbench.compare.rounds.statistics import Ratio, Speed, ratio, ratio_note, speeds_of
from workbench.compare.verdict import _number, ratio_clause, verdict_of
from workbench.errors import ConfigError
from workbench.machine.load import Load
from workbench.runs import Run

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.0, 2, "2.0"),
        (2.0, 3, "2.00"),
        (0.994, 2, "0.99"),
        (0.995, 2, "1.0"),
        (0.1, 2, "0.10"),
        (0.0999, 2, "0.0999"),
        (9.96, 2, "10.0"),
        (10.06, 2, "10.1"),
        (99.96, 2, "100"),
        (NAN, 2, "–"),  # noqa: RUF001
    ],
)
def test_a_ratio_is_written_with_two_digits_or_three(value: float, digits: int, text: str) -> None:
    assert _number(value, digits) == text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Ratio(1.0625, NAN, NAN), "a is 1.06 times as fast as b (too few rounds for an interval)"),
        (Ratio(1.25, NAN, NAN), "a is 1.2 times as fast as b (too few rounds for an interval)"),
        (Ratio(0.9375, NAN, NAN), "a is slower, 0.938 times as fast as b (too few rounds for an "
         "interval)"),
        (Ratio(1.0, NAN, NAN), "a is about as fast as b, 1.00 times (too few rounds for an "
         "interval)"),
        (Ratio(0.997, NAN, NAN), "a is about as fast as b, 0.997 times (too few rounds for an "
         "interval)"),
        (Ratio(0.997, 0.995, 0.999), "a is slower, 0.997 times as fast as b (0.995 to 0.999)"),
        (Ratio(0.997, 0.98, 1.01), "no difference seen between a and b (0.980 to 1.01)"),
        (Ratio(1.5, 1.0625, 2.0), "a is 1.50 times as fast as b (1.06 to 2.00)"),
        (Ratio(0.5, 0.25, 0.9375), "a is slower, 0.500 times as fast as b (0.250 to 0.938)"),
        (Ratio(0.5, 0.25, 1.0), "no difference seen between a and b (0.250 to 1.00)"),
        (Ratio(1.5, 1.0, 2.0), "no difference seen between a and b (1.00 to 2.00)"),
        (Ratio(0.5, 0.25, 0.75), "a is slower, 0.50 times as fast as b (0.25 to 0.75)"),
    ],
)  # fmt: skip
def test_near_one_there_are_three_digits(found: Ratio, said: str) -> None:
    assert ratio_clause("a", "b", found) == said


def test_a_verdict_has_a_badge_and_a_level() -> None:
    ratios = {"a": Ratio(2.0, 1.5, 2.5), "b": Ratio(1.0, 1.0, 1.0)}
    for load, badge, level in (
        (Load(10.0, 0.1, 2), "machine was quiet", "quiet"),
        (Load(10.0, 9.0, 2), "machine was busy", "busy"),
        (None, "load not known", "unknown"),
    ):
        found = verdict_of(ratios, "b", load, 2)
        assert (found.badge, found.level) == (badge, level)
    nothing = {"a": Ratio(NAN, NAN, NAN), "b": Ratio(1.0, 1.0, 1.0)}
    for engines, why in (
        (1, "there is only one engine: choose another to compare it with"),
        (2, "fewer than two engines completed a round"),
    ):
        none = verdict_of(nothing, "b", None, engines)
        assert none[:3] == (f"There is no ratio, as {why}.", "no ratio", "none")
    busy = verdict_of(nothing, "b", Load(10.0, 9.0, 2), 2)
    assert busy[:3] == (
        "Do not trust these figures, as the machine was busy (other programs used 0.9 of 2 cores). "
        "There is no ratio, as fewer than two engines completed a round. Compare again once the "
        "machine is quiet.",
        "machine was busy",
        "busy",
    )


def test_an_interval_is_the_same_whenever_it_is_computed() -> None:
    """So that a record shows the same in every version."""
    random = np.random.default_rng(5)
    found = ratio(random.uniform(1, 2, 20), np.ones(20))
    assert found == pytest.approx(INTERVAL, rel=1e-12)


INTERVAL = (1.4639852854784423, 1.3340569380009677, 1.7408461377882232)


def test_why_there_is_no_ratio_or_interval() -> None:
    def of(*ratios: Ratio) -> dict[str, Speed]:
        return {str(place): Speed(1.0, each, 1) for place, each in enumerate(ratios)}

    whole, few, none = Ratio(1.0, 0.5, 1.5), Ratio(1.0, NAN, NAN), Ratio(NAN, NAN, NAN)
    assert ratio_note(of(whole), 1) == "There is no ratio, as there is only one engine."
    assert ratio_note(of(whole, whole), 2) == ""
    assert ratio_note(of(none, none), 2) == ""
    assert ratio_note(of(whole, few), 2) == (
        "There are too few rounds for a confidence interval; at least 6 are needed."
    )


def test_an_engine_that_measured_nothing_has_no_throughput() -> None:
    found = speeds_of({"a": np.empty(0), "b": np.array([2.0, 4.0])}, "")
    assert (found["b"].samples_per_s, found["b"].rounds, found["a"].rounds) == (3.0, 2, 0)
    assert math.isnan(found["a"].samples_per_s)
    found = speeds_of({"a": np.array([4.0, 8.0, 6.0]), "b": np.array([2.0, 4.0])}, "b")
    assert (found["a"].samples_per_s, found["a"].rounds, found["a"].ratio.median) == (6.0, 2, 2.0)


def run_of(label: str, **summary: Any) -> Run:
    return write_run(label, [steps(1, [1.0], [3.0])], {"status": "completed", **summary})


@pytest.mark.parametrize(
    ("peak", "before", "expected"),
    [
        (3_000_000, 1_000_000, (3.0, 2.0)),
        (3_000_000, None, (3.0, NAN)),
        (None, 1_000_000, (NAN, NAN)),
        (3_000_000, 0, (3.0, NAN)),
        (0, 0, (NAN, NAN)),
    ],
)
def test_memory_is_in_megabytes_where_it_is_known(
    peak: int | None, before: int | None, expected: tuple[float, float]
) -> None:
    known = {"peak_rss_bytes": peak, "rss_before_bytes": before}
    run = run_of("a", **{name: value for name, value in known.items() if value is not None})
    found = measured_row(run, Speed(1.0, Ratio(NAN, NAN, NAN), 0), NONE_YET, None)
    for row in (found, compare_runs([run]).table().iloc[0].to_dict()):
        memory = (row["peak_memory_mb"], row["memory_growth_mb"])
        assert memory == pytest.approx(expected, nan_ok=True)
    assert found["steps"] == 0
    assert math.isnan(found["final_loss"])
    assert math.isnan(found["max_loss_difference"])


def test_repeated_steps_replace_those_that_were_read() -> None:
    run = write_run("a", [steps(1, [1.0, 1.0, 1.0], [3.0, 2.0, 1.0])])
    recorded = RecordedSteps(run)
    assert list(recorded.read().loss) == [3.0, 2.0, 1.0]
    assert recorded.read() is recorded.read()
    append(run.folder.events_path, [{"event": "restored", "step": 2}])
    assert list(recorded.read().step) == [1, 2]
    append(
        run.folder.events_path,
        [{"event": "restored", "step": 1}, steps(2, [0.5, 0.25], [7.0, 8.0])],
    )
    found = recorded.read()
    assert list(found.step) == [1, 2, 3]
    assert list(found.loss) == [3.0, 7.0, 8.0]
    assert list(found.seconds) == pytest.approx([1.0, 0.5, 0.25])
    assert list(found.samples) == [10, 10, 10]


def test_all_settings_of_a_run_are_flat() -> None:
    run = write_run("a", [], {"status": "completed"}, seed=4)
    run.spec["versions"] = {"torch": "2", "more": {"deep": 1}}
    found = settings_of(run)
    assert (found["model"], found["dataset"], found["samples"]) == ("model-a", "rows", 30)
    assert (found["seed"], found["machine.cores"], found["versions.torch"]) == (4, 2, "2")
    assert found["versions.more.deep"] == 1
    assert not any(isinstance(value, dict) for value in found.values())
    run.spec["machine"] = None
    assert not [name for name in settings_of(run) if name.startswith("machine")]


def test_recorded_runs_have_no_rounds() -> None:
    slow = write_run("a", [steps(1, [9.0, 2.0])], {"status": "completed"}, warmup_steps=1)
    fast = write_run("a", [steps(1, [9.0, 1.0])], {"status": "completed"}, warmup_steps=1)
    none = write_run("a", [], {"status": "stopped"}, warmup_steps=1)
    for run, name in ((slow, "slow"), (fast, "fast"), (none, "none")):
        run.rename(name)
    both = compare_runs([slow, fast, none])
    table = both.table()
    assert list(table["samples_per_s"]) == pytest.approx([5.0, 10.0, NAN], nan_ok=True)
    assert list(table["ratio"]) == pytest.approx([1.0, 2.0, NAN], nan_ok=True)
    assert list(table["rounds"]) == [0, 0, 0]
    assert list(table["steps"]) == [2, 2, 0]
    assert list(table["final_loss"]) == pytest.approx([1.0, 1.0, NAN], nan_ok=True)
    assert set(table["warning"]) == {NOT_LOCKSTEP}
    assert list(table["status"]) == ["completed", "completed", "stopped"]
    assert (table.index.name, both.ended) == ("run", True)
    assert repr(both) == "<RunComparison of slow, fast, none>"
    assert both.caption.startswith(
        "model-a on rows, batch 10, adamw with lr 0.001, 1 thread; a processor"
    )
    other = write_run("b", [], {"status": "stopped"}, warmup_steps=1)
    other.rename("other")
    same, differs = compare_runs([slow, other, fast]).caption.split(" | ")
    assert same.startswith("slow, fast: model-a on rows, batch 10, adamw with lr 0.001, 1 thread; ")
    assert differs.startswith("other: model-b on rows")
    two = write_run("a", [], {"status": "stopped"}, engine="pytorch", processes=2)
    assert "adamw with lr 0.001, 2 processes of 1 thread; " in compare_runs([two]).caption
    reversed_table = compare_runs([none, slow]).table()
    assert list(reversed_table["ratio"]) == pytest.approx([NAN, 1.0], nan_ok=True)
    assert not compare_runs([slow, write_run("d", [])]).ended


def test_the_verdict_names_machines_and_days_once() -> None:
    first, second = (write_run("a", [steps(1, [1.0])], {"status": "completed"}, warmup_steps=0)
                     for _ in range(2))  # fmt: skip
    second.spec["machine"] = {**second.spec["machine"], "cores": 8, "processor": "another"}
    second.spec["versions"] = {"torch": "3"}
    second.spec["samples"] = 31
    sentence = compare_runs([first, second]).verdict().sentence
    assert "Settings that differ: machine." in sentence
    assert "separately" in sentence
    second.spec["launched"] = LAUNCHED + 3 * 86_400
    sentence = compare_runs([first, second]).verdict().sentence
    assert "measured on different days" in sentence


@pytest.mark.fault
def test_duplicates_and_values_that_are_no_list_are_refused() -> None:
    run = run_of("a")
    assert [each.id for each in compare_runs(run).runs.values()] == [run.id]  # type: ignore[arg-type]
    assert [each.id for each in compare_runs(run.id).runs.values()] == [run.id]
    with pytest.raises(ConfigError, match=r"  - runs=3: give a list of runs or their ids\.$"):
        compare_runs(3)  # type: ignore[arg-type]
    other = run_of("b")
    with pytest.raises(ConfigError) as refused:
        compare_runs([run, other, run.id, other, run])
    assert [*refused.value.problems] == [
        f"runs contains {each.id!r} twice." for each in (run, other)
    ]


def test_a_busy_machine_has_a_title_of_another_colour() -> None:
    runs = {
        engine: write_run(engine, [steps(1, [seconds] * 9)], {"status": "completed"}, engine=engine)
        for engine, seconds in (("pytorch", 1.0), ("ondevice", 0.5))
    }

    def colour(load: Load) -> Any:
        figure = Comparison("c", LockstepPlan(0, 1, 9), [*runs], [load], runs=runs).plot()
        assert 2 < figure.axes[3].get_xlim()[1] < 3
        assert figure._suptitle is not None  # type: ignore[attr-defined]
        assert not figure._suptitle.get_parse_math(), "a name may hold dollar signs"  # type: ignore[attr-defined]
        return figure._suptitle.get_color()  # type: ignore[attr-defined]

    assert colour(Load(10.0, 9.0, 2)) == "#b91c1c"
    assert colour(Load(10.0, 0.1, 2)) != "#b91c1c"
