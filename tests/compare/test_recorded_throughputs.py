"""What a comparison has found stands in the records of its runs, unless they were resumed since."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.runs.written import steps, write_run
from workbench.compare import load_comparison
from workbench.compare.lockstep import make_plan
from workbench.compare.record import ComparisonRecord
from workbench.compare.recorded_throughputs import record_interrupted, record_throughputs
from workbench.machine.load import Load
from workbench.runs import Run
from workbench.runs.listing.read_row import RowReader

DONE = {"status": "completed", "samples_per_s": 1.0}
LOAD = Load(wall_s=10.0, other_s=12.0, cores=2)
PLAN = make_plan(steps=42, warmup_steps=2)


def compared(second_s: float = 0.5, **further: float) -> tuple[str, Run, Run]:
    """A comparison whose second engine is disturbed from the middle on, as the first is not."""
    slow = [1.0] * 42 + [9.0] * int(further.get("more", 0))
    fast = [second_s] * 22 + [2 * second_s] * 20
    first = write_run("first", [steps(1, slow)], DONE, engine="pytorch", steps=42, warmup_steps=2)
    second = write_run("second", [steps(1, fast)], DONE, engine="ondevice", steps=42)
    record = ComparisonRecord(PLAN, ["pytorch", "ondevice"])
    record.add_run("pytorch", first.id)
    record.add_run("ondevice", second.id)
    record.add_load(LOAD)
    return record.id, first, second


def resumed(run: Run, step: int) -> None:
    """Let the record say that the run was continued after `step`."""
    spec = json.loads(run.folder.spec_path.read_text())
    run.folder.write_spec({**spec, "resumed_from": step})


def test_its_runs_have_its_figures_in_lists_too() -> None:
    comparison, first, second = compared()
    record_throughputs(comparison)
    table = load_comparison(comparison).table()
    assert [first.samples_per_s, second.samples_per_s] == list(table["samples_per_s"])
    assert first.load == second.load == LOAD, "that of the whole comparison"
    row = RowReader(second.folder).read()
    assert row.samples_per_s == second.samples_per_s
    assert row.disturbance == "other programs used 1.2 of 2 cores"
    assert (second.summary or {})["status"] == "completed"


def test_a_comparison_that_ended_with_its_process_is_recorded_once_it_is_found() -> None:
    comparison, first, second = compared()
    assert first.samples_per_s == 1.0
    for run in (first, second):
        run.folder.write_summary({**(run.summary or {}), "status": "interrupted"})
    record_interrupted(comparison)
    table = load_comparison(comparison).table()
    assert [first.samples_per_s, second.samples_per_s] == list(table["samples_per_s"])
    said = load_comparison(comparison).verdict().sentence
    assert "All were interrupted, at step 42 of 42." in said


def test_a_run_that_was_resumed_or_deleted_since_keeps_its_own() -> None:
    comparison, first, second = compared()
    resumed(first, 42)
    second.delete()
    record_throughputs(comparison)
    assert first.samples_per_s == 1.0
    assert not second.folder.path.exists()
    record_throughputs("of-no-comparison")


def test_a_load_that_the_comparison_does_not_know_is_that_of_the_run() -> None:
    measured = {"event": "load", "step": 42, **LOAD._asdict()}
    run = write_run("alone", [steps(1, [0.1] * 42), measured], DONE, engine="pytorch", steps=42)
    record = ComparisonRecord(PLAN, ["pytorch"])
    record.add_run("pytorch", run.id)
    record.add_load(None)
    record_throughputs(record.id)
    assert run.load == LOAD


def test_what_a_run_was_trained_further_does_not_change_the_comparison() -> None:
    comparison, *_ = compared()
    expected = load_comparison(comparison).table()["ratio"].tolist()
    comparison, first, _ = compared(more=40)
    assert load_comparison(comparison).table()["ratio"].tolist() == expected
    resumed(first, 12)
    ratio = load_comparison(comparison)
    assert len(ratio.rounds("pytorch")) == 5, "after step 12 it was trained alone"
    assert ratio.ratio("ondevice").median == 2.0


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_without_a_record_of_it_the_list_says_what_the_run_says(status: str) -> None:
    """A run of an older version, or one whose worker was killed."""
    seconds = [0.5] * 20 + [0.1, 9.0]
    run = write_run("a", [steps(1, seconds)], {"status": status}, steps=22, warmup_steps=0)
    row = RowReader(run.folder).read()
    assert row.samples_per_s == run.samples_per_s == 20.0, "the median, not a mean"
    assert not row.sampled
    np.testing.assert_equal(RowReader(run.folder).read(quick=True).samples_per_s, math.nan)
