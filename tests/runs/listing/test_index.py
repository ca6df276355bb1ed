"""When the list of runs reads a run again, and what it makes of each part of its record."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs.written import DONE, append, steps, write_run
from workbench.errors import RunFolderError
from workbench.run_folder.run_folder import home
from workbench.runs import Run
from workbench.runs.listing import RunIndex, RunRow, index, read_row
from workbench.runs.listing.index import MANY_RUNS, UNSETTLED_S
from workbench.runs.listing.read_row import RowReader
from workbench.settings.federation import FederationOptions


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Which run is read, and whether only its end."""
    found: list[tuple[str, bool]] = []
    original = RowReader.read

    def read(self: RowReader, *, quick: bool = False) -> Any:
        found.append((self._folder.id, quick))
        return original(self, quick=quick)

    monkeypatch.setattr(RowReader, "read", read)
    return found


@pytest.mark.parametrize(
    ("age_s", "again"),
    [(0.0, True), (0.0625, True), (0.25, False), (-0.0625, True), (-0.25, False)],
)
def test_recently_changed_runs_are_read_again(
    age_s: float, again: bool, reads: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock may be set back, too."""
    assert UNSETTLED_S == 0.1
    run = write_run("a", [], DONE)
    os.utime(run.folder.path, (1000, 1000))
    monkeypatch.setattr(index, "time", SimpleNamespace(time=lambda: 1000 + age_s))
    runs = RunIndex()
    runs.poll()
    assert runs.poll() == ([], [])
    assert reads == [(run.id, False)] * (1 + again)


def test_a_run_under_way_is_read_each_time(reads: list[tuple[str, bool]]) -> None:
    run = write_run("a", [steps(1, [1.0])])
    os.utime(run.folder.path, (1000, 1000))
    runs = RunIndex()
    durations = [row.duration_s for _ in range(3) for row in runs.poll().rows]
    assert durations == sorted(set(durations)), "it lasts until now"
    assert len(reads) == len(durations) == 3


@pytest.mark.parametrize(("count", "quick"), [(30, False), (31, True)])
def test_of_more_than_thirty_new_runs_only_the_end_is_read(
    count: int, quick: bool, reads: list[tuple[str, bool]]
) -> None:
    assert MANY_RUNS == 30
    first = write_run("a", [steps(1, [1.0])], DONE)
    for place in range(1, count):
        shutil.copytree(first.folder.path, first.folder.path.with_name(f"{first.id}-{place:02}"))
    runs = RunIndex()
    ids = [row.id for row in runs.poll().rows]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == count
    assert {read[1] for read in reads} == {quick}
    assert runs.incomplete == (ids if quick else [])
    reads.clear()
    rows = runs.complete([ids[3], "nothing", ids[0], ids[3]])
    assert [row.id for row in rows] == ([ids[3], ids[0]] if quick else [])
    assert all(row.complete for row in rows)
    assert runs.incomplete == ([each for each in ids if each not in (ids[3], ids[0])] * quick)
    shutil.copytree(first.folder.path, first.folder.path.with_name(f"{first.id}-new"))
    reads.clear()
    runs.poll()
    assert reads[0] == (f"{first.id}-new", False)


def test_deleted_runs_are_removed_once(tmp_path: Path) -> None:
    kept, gone = (write_run(label, [], DONE) for label in "ab")
    runs = RunIndex()
    assert runs.folder == home() / "runs"
    runs.poll()
    shutil.rmtree(gone.folder.path)
    assert runs.poll().removed == [gone.id]
    assert runs.poll().removed == []
    assert [*runs.rows] == [kept.id]
    kept.folder.path.rename(tmp_path / "elsewhere")
    kept.folder.path.symlink_to(tmp_path / "nowhere")
    [row] = runs.poll().rows
    assert (row.id, row.status) == (kept.id, "unreadable")


def test_the_steps_of_a_federated_run_are_rounds() -> None:
    run, federated = (write_run(label, [], DONE) for label in "ab")
    record = {"options": FederationOptions().model_dump(), "split": "iid", "clients": []}
    record |= {"parameters": [], "deployed": False}
    federated.folder.write_spec({**federated.spec, "federation": record})
    words = {row.id: row.step_word for row in RunIndex().poll().rows}
    assert words == {run.id: "step", federated.id: "round"}


def test_the_runs_of_a_comparison_are_told_from_others() -> None:
    alone, compared, further = (write_run(label, [], DONE) for label in "abc")
    compared.folder.write_spec({**compared.spec, "comparison": "x"})
    further.folder.write_spec({**further.spec, "comparison": "x", "resumed_from": 3})
    told = {row.id: row.comparison for row in RunIndex().poll().rows}
    assert told == {alone.id: "", compared.id: "x", further.id: ""}


def test_folders_that_hold_no_run_are_left_out() -> None:
    run = write_run("a", [], DONE)
    (run.folder.path.parent / "launching").mkdir()
    (run.folder.path.parent / "text").touch()
    assert [row.id for row in RunIndex(run.folder.path.parent).poll().rows] == [run.id]


@pytest.mark.fault
def test_a_folder_that_is_not_there_has_no_runs_and_one_that_is_a_file_is_an_error(
    tmp_path: Path,
) -> None:
    assert RunIndex(tmp_path / "nowhere").poll() == ([], [])
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError) as refused:
        RunIndex(tmp_path / "file").poll()
    assert str(refused.value) == (
        f"{tmp_path / 'file'} cannot be read: Not a directory. Set WORKBENCH_HOME to a folder."
    )


def evaluation(**measures: Any) -> dict[str, Any]:
    return {"event": "evaluation", "step": 1, "epoch": 1, "loss": 0.5, "accuracy": None, **measures}


@pytest.mark.parametrize(
    ("measures", "name", "value"),
    [
        ({"accuracy": 0.0}, "accuracy", 0.0),
        ({"accuracy": 0.25, "perplexity": 9.0}, "accuracy", 0.25),
        ({"perplexity": 9.0, "r2": 0.5}, "perplexity", 9.0),
        ({"r2": 0.5, "mean_absolute_error": 2.0}, "r2", 0.5),
        ({"mean_absolute_error": 2.0}, "mean_absolute_error", 2.0),
        ({}, "test_loss", 0.5),
        ({"loss": None}, "test_loss", math.nan),
    ],
)
def test_the_metric_is_that_of_the_task(measures: dict[str, Any], name: str, value: float) -> None:
    """Of the summary, or else of the last event."""
    run = write_run("a", [evaluation(accuracy=0.75), evaluation(**measures)], DONE)
    summed = write_run(
        "b", [evaluation(accuracy=0.75)], {**DONE, "evaluation": evaluation(**measures)}
    )
    for each in (run, summed):
        row = RowReader(each.folder).read()
        assert (row.metric_name, row.metric) == (name, pytest.approx(value, nan_ok=True))
        assert row.test_loss == pytest.approx(measures.get("loss", 0.5) or math.nan, nan_ok=True)


def test_a_run_without_an_evaluation_has_no_metric() -> None:
    row = RowReader(write_run("a", [], DONE).folder).read()
    assert row.metric_name == ""
    assert math.isnan(row.metric)


def test_the_steps_are_those_of_the_log_or_else_of_the_summary() -> None:
    for events, summary, expected in (
        ([steps(1, [1.0] * 3)], {"steps": 7}, 3), ([], {"steps": 7}, 7), ([], {}, 0),
    ):  # fmt: skip
        assert (
            RowReader(write_run("a", events, {**DONE, **summary}).folder).read().steps == expected
        )


ERROR = {"type": "E", "message": "It broke.", "traceback": ""}


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ({"status": "completed"}, ""),
        ({"status": "failed", "error": ERROR}, "It broke."),
        ({"status": "stopped", "reason": "Early."}, "Early."),
        ({"status": "failed", "error": ERROR, "reason": "Early."}, "It broke. Early."),
        (
            {"status": "stopped", "reason": "Early.", "resume_error": ERROR},
            "Early. It could not be resumed: It broke.",
        ),
    ],
)
def test_the_reason_is_all_that_the_summary_says(summary: dict[str, Any], reason: str) -> None:
    row = RowReader(write_run("a", [], summary).folder).read()
    assert (row.status, row.reason) == (summary["status"], reason)


def test_a_run_that_ends_while_it_is_read_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run("a", [steps(1, [1.0])])

    def ends(_: object) -> bool:
        run.folder.write_summary({"engine": "fake", "error": None, **DONE})
        return False

    monkeypatch.setattr(read_row, "is_locked", ends)
    reader = RowReader(run.folder)
    row = reader.read()
    assert (row.status, row.reason, row.duration_s) == ("completed", "", 5.0)
    assert not reader.active


def test_a_run_whose_worker_is_gone_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run("a", [steps(1, [1.0])])
    reader = RowReader(run.folder)
    assert reader.active is False
    assert (reader.read().status, reader.active) == ("running", True)
    monkeypatch.setattr(read_row, "is_locked", lambda _: False)
    row = reader.read()
    assert (row.status, reader.active) == ("failed", False)
    assert row.reason == "The worker process no longer exists and wrote no summary."


def test_of_a_run_that_was_read_whole_nothing_is_left_out_later() -> None:
    run = write_run("a", [steps(1, [1.0, 1.0], [3.0, 2.0])], DONE, warmup_steps=0)
    quick = RowReader(run.folder).read(quick=True)
    assert (quick.complete, quick.curve, quick.steps, quick.last_loss) == (False, (), 2, 2.0)
    assert math.isnan(quick.best_loss)
    assert math.isnan(quick.samples_per_s)
    reader = RowReader(run.folder)
    whole = reader.read()
    assert (whole.complete, whole.curve, whole.best_loss) == (True, (3.0, 2.0), 2.0)
    assert whole.samples_per_s == 10.0
    append(run.folder.events_path, [steps(3, [1.0], [1.0])])
    again = reader.read(quick=True)
    assert (again.complete, again.curve, again.samples_per_s) == (True, (3.0, 2.0, 1.0), 10.0)


@pytest.mark.fault
def test_a_row_that_cannot_be_read_says_why_and_is_not_active() -> None:
    run = write_run("a", [])
    Run(run.folder).rename("a name")
    Run(run.folder).tags = ["old"]
    reader = RowReader(run.folder)
    assert reader.read().status == "starting"
    run.folder.summary_path.write_text("{")
    corrupt = reader.read()
    assert (corrupt.status, reader.active) == ("unreadable", False)
    assert "summary.json" in corrupt.reason
    run.folder.spec_path.write_text("[]")
    row = reader.read()
    assert (row.status, row.model, row.steps, row.complete) == ("unreadable", "", 0, True)
    assert (row.name, row.tags) == ("a name", ("old",)), "what a user gave it is another file"
    assert not reader.active


def test_labels_that_cannot_be_read_are_the_reason_where_there_is_no_other() -> None:
    fine = write_run("a", [], DONE)
    failed = write_run("b", [], {"status": "failed", "error": ERROR})
    for run in (fine, failed):
        Run(run.folder).rename("a name")
        run.folder.labels_path.write_text("{")
    assert "labels.json" in RowReader(fine.folder).read().reason
    assert RowReader(failed.folder).read().reason == "It broke."


def test_a_row_is_compared_and_never_changed() -> None:
    row = RowReader(write_run("a", [], DONE).folder).read()
    for name in ("status", "more"):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(row, name, "failed")
    assert not hasattr(row, "__dict__")
    assert row == dataclasses.replace(row) != dataclasses.replace(row, steps=9)


def test_unknown_fields_of_a_row_are_empty() -> None:
    row = RunRow("an-id", "failed")
    texts = (row.name, row.model, row.dataset, row.engine, row.reason, row.metric_name, row.notes)
    assert set(texts) == {""}
    assert (row.steps, row.total_steps, row.curve, row.tags) == (0, 0, (), ())
    assert (row.sampled, row.complete) == (False, True)
    times = (
        row.started,
        row.duration_s,
        row.last_loss,
        row.best_loss,
        row.metric,
        row.samples_per_s,
    )
    assert all(math.isnan(value) for value in times)


def test_a_record_that_ends_early_is_said_and_its_loss_is_not_taken_for_the_last() -> None:
    ended = {"status": "completed", "steps": 44}
    whole = write_run("a", [steps(1, [2.0] * 44)], ended)
    cut = write_run("b", [steps(1, [2.0] * 25)], ended)
    gone = write_run("c", [steps(1, [2.0] * 44)], ended)
    gone.folder.events_path.unlink()
    for quick in (True, False):
        rows = {run.id: RowReader(run.folder).read(quick=quick) for run in (whole, cut, gone)}
        assert rows[whole.id].damage == ""
        for run, recorded in ((cut, 25), (gone, 0)):
            expected = f"events.jsonl ends at step {recorded} of 44: the rest is missing."
            assert rows[run.id].damage.endswith(expected)
            assert rows[run.id].status == "completed"


def test_a_summary_that_was_edited_in_its_place_is_read_again() -> None:
    run = write_run("a", [steps(1, [1.0])], DONE)
    listed = RunIndex()
    listed.poll()
    time.sleep(2 * UNSETTLED_S)
    assert listed.poll().rows == listed.poll().rows == []
    with run.folder.summary_path.open("r+", encoding="utf-8") as file:
        file.write("broken")
    [row] = listed.poll().rows
    assert row.status == "unreadable"
