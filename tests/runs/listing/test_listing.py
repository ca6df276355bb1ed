"""The list of runs: what it says of each, how little it reads, and that it never raises."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.recorded import changed, recorded
from tests.runs.written import append, steps, write_run
from workbench.data import Dataset
from workbench.errors import RunFolderError
from workbench.files.json_file import LARGEST_BYTES
from workbench.run_folder.events import EventWriter
from workbench.run_folder.loss_curve import MOST_POINTS, LossCurve
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run, load_run
from workbench.runs.listing import RunIndex, index, read_row, step_scan
from workbench.runs.listing.read_row import RowReader

COMPLETED = {"status": "completed", "steps": 3}


def write_steps(path: Path, first_step: int, losses: list[float]) -> None:
    """Append one event of steps as a worker does."""
    events = EventWriter(path)
    events.write(
        "steps",
        first_step=first_step,
        losses=losses,
        nanoseconds=[2_000_000] * len(losses),
        batch_size=10,
        steps_per_epoch=3,
        rss_bytes=1,
    )
    events.close()


def test_a_row_equals_the_record_of_the_run(digits: Dataset) -> None:
    folder = recorded(digits)
    run = load_run(folder.id)
    run.rename("a name")
    run.tags = ["a", "b"]
    run.notes = "some\nnotes"
    [row] = RunIndex().poll().rows
    assert (row.id, row.name, row.status, row.engine) == (run.id, "a name", run.status, run.engine)
    assert (row.model, row.dataset, row.tags, row.notes) == (
        *("line", "digits"),
        *(("a", "b"), "some\nnotes"),
    )
    assert (row.steps, row.total_steps) == (4, 4)
    assert (row.last_loss, row.best_loss, row.curve) == (1.0, 1.0, (2.0, 1.5, 1.2, 1.0))
    assert row.samples_per_s == pytest.approx(run.samples_per_s, rel=1e-12)
    assert (row.metric_name, row.metric) == ("accuracy", 0.5)
    assert (row.started, row.duration_s) == (1.0, 1.0)
    assert row.complete
    assert not row.sampled


def test_events_of_another_layout_are_read_as_well() -> None:
    """Of this writer, `time` comes first."""
    run = write_run("a", [steps(1, [0.5, 0.5], [2.0, None])], COMPLETED, warmup_steps=0)
    row = RowReader(run.folder).read()
    assert row.steps == 2
    assert math.isnan(row.last_loss)
    assert row.best_loss == 2.0
    assert row.samples_per_s == 20
    events = [steps(1, [0.5, 0.5]), steps(3, [0.5, 0.25, 0.25])]
    later = write_run("b", events, COMPLETED, warmup_steps=3)
    assert RowReader(later.folder).read().samples_per_s == 40, "of the two after the warm-up"
    np.testing.assert_equal(row.curve, (2.0, math.nan))


def test_steps_repeated_by_a_resumed_run_are_dropped() -> None:
    run = write_run("a", [], COMPLETED)
    write_steps(run.folder.events_path, 1, [5.0, 4.0, 3.0, 9.0])
    append(run.folder.events_path, [{"event": "restored", "step": 2}])
    write_steps(run.folder.events_path, 3, [2.0])
    row = RowReader(run.folder).read()
    assert (row.steps, row.last_loss, row.curve) == (3, 2.0, (5.0, 4.0, 2.0))


class CountedReads:
    """How many bytes of event logs are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read_bytes = 0
        pread = os.pread

        def count(file: int, length: int, offset: int) -> bytes:
            found = pread(file, length, offset)
            self.read_bytes += len(found)
            return found

        monkeypatch.setattr(step_scan.os, "pread", count)


@pytest.mark.parametrize("steps_a_line", [40, 1000], ids=["short lines", "long lines"])
def test_a_long_log_is_sampled_and_then_only_new_bytes_are_read(
    steps_a_line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run("long", [], COMPLETED, warmup_steps=0)
    log = run.folder.events_path
    losses = 3.0 - 2.0 * np.arange(200_000) / 200_000
    for first in range(0, len(losses), steps_a_line):
        write_steps(log, first + 1, losses[first : first + steps_a_line].tolist())
    size = log.stat().st_size
    counted = CountedReads(monkeypatch)
    reader = RowReader(run.folder)
    row = reader.read()
    assert row.sampled
    assert counted.read_bytes < size / 2, f"{counted.read_bytes} of {size} bytes"
    assert row.steps == 200_000
    assert row.last_loss == pytest.approx(losses[-1], rel=1e-12)
    assert row.best_loss == pytest.approx(losses[-1], rel=1e-12)
    assert row.samples_per_s == pytest.approx(5000)
    assert 24 <= len(row.curve) <= MOST_POINTS
    known = np.array(row.curve)
    expected = 3.0 - 2.0 * (np.arange(len(known)) + 0.5) / len(known)
    difference = np.nanmax(np.abs(known - expected))
    assert difference < 0.15, f"largest difference {difference}"

    write_steps(log, 200_001, [0.25])
    counted.read_bytes = 0
    row = reader.read()
    assert counted.read_bytes == log.stat().st_size - size
    assert (row.steps, row.last_loss, row.best_loss) == (200_001, 0.25, 0.25)


def test_of_a_run_whose_worker_was_killed_nothing_is_estimated() -> None:
    """The list had another throughput than the page in which it was trained."""
    killed = {"status": "failed", "error": {"type": "E", "message": "killed", "traceback": ""}}
    run = write_run("killed", [], killed, warmup_steps=0, steps=20_000)
    losses = np.random.default_rng(0).uniform(1.0, 3.0, 6_000)
    for first in range(0, len(losses), 40):
        write_steps(run.folder.events_path, first + 1, losses[first : first + 40].tolist())
    row, found = RowReader(run.folder).read(), run.step_results()
    assert (row.samples_per_s, row.best_loss) == (found.samples_per_s, found.best_loss)
    assert not row.sampled


def test_of_a_long_run_of_an_older_version_what_it_recorded_is_not_estimated() -> None:
    recorded = {"samples_per_s": 17.5, "best_loss": 0.25}
    run = write_run("long", [], {**COMPLETED, **recorded}, warmup_steps=0, steps=20_000)
    for first in range(0, 20_000, 40):
        write_steps(run.folder.events_path, first + 1, [2.0] * 40)
    row = RowReader(run.folder).read()
    assert (row.samples_per_s, row.best_loss, row.sampled) == (17.5, 0.25, False)


def test_of_a_long_run_that_has_ended_nothing_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """In another kernel too, and however many runs are new at once."""
    run = write_run("long", [], COMPLETED, warmup_steps=0, steps=20_000)
    losses = np.random.default_rng(0).uniform(1.0, 3.0, 20_000)
    for first in range(0, len(losses), 40):
        write_steps(run.folder.events_path, first + 1, losses[first : first + 40].tolist())
    found = run.step_results()
    run.folder.write_summary({**COMPLETED, "steps": 20_000, **found.record()})
    counted = CountedReads(monkeypatch)
    for quick in (False, True):
        row = RowReader(run.folder).read(quick=quick)
        assert row.complete
        assert not row.sampled
        assert row.steps == 20_000
        assert row.last_loss == pytest.approx(losses[-1], rel=1e-12)
        assert (row.best_loss, row.samples_per_s) == (found.best_loss, found.samples_per_s)
        width = 512  # the power of two that gives at most MOST_POINTS
        np.testing.assert_allclose(row.curve[:5], losses[: 5 * width].reshape(5, -1).mean(axis=1))
    assert counted.read_bytes < 20_000


@pytest.mark.parametrize("evaluated_bytes", [400, 1200, 3000, 6000, 100_000])
def test_the_last_step_is_known_for_a_log_of_any_length(
    evaluated_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The samples reached past the last steps where a long event is before them."""
    monkeypatch.setattr(read_row, "READ_WHOLE_BYTES", 0)
    run = write_run("tail", [], COMPLETED, warmup_steps=0)
    log = run.folder.events_path
    first = 1
    while log.stat().st_size <= step_scan.WHOLE_BYTES:
        write_steps(log, first, [1.0, 2.0, 3.0])
        first += 3
    append(log, [{"event": "evaluation", "step": first - 1, "text": "." * evaluated_bytes}])
    write_steps(log, first, [0.5])
    row = RowReader(run.folder).read()
    assert row.sampled
    assert (row.steps, row.last_loss) == (first, 0.5)


def test_an_incomplete_last_line_is_read_when_it_is_whole(digits: Dataset) -> None:
    folder = recorded(digits)
    whole = folder.events_path.read_bytes()
    reader = RowReader(folder)
    folder.events_path.write_bytes(whole[: len(whole) // 2])
    reader.read()
    folder.events_path.write_bytes(whole)
    assert reader.read() == RowReader(folder).read()


@pytest.mark.parametrize("count", [1, 7, 60, 61, 1000, 4097])
def test_a_curve_is_the_means_of_all_its_steps(count: int) -> None:
    losses = np.random.default_rng(0).random(count)
    curve = LossCurve()
    for first in range(0, count, 13):
        curve.add(first + 1, losses[first : first + 13].tolist())
    points = curve.points()
    width = 1
    while -(-count // width) > MOST_POINTS:
        width *= 2
    expected = [losses[at : at + width].mean() for at in range(0, count, width)]
    np.testing.assert_allclose(points, expected, rtol=1e-12)


def test_only_changed_runs_are_read_again(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [recorded(digits, engine) for engine in ("pytorch", "ondevice")]
    for folder in folders:
        os.utime(folder.path, (1, 1))
    runs = RunIndex()
    assert [row.id for row in runs.poll().rows] == [folders[1].id, folders[0].id]
    read: list[str] = []
    original = RowReader.read

    def count(self: RowReader, **options: Any) -> Any:
        read.append(self._folder.id)
        return original(self, **options)

    monkeypatch.setattr(RowReader, "read", count)
    assert runs.poll() == ([], [])
    assert read == []
    Run(folders[0]).rename("another name")
    assert [row.name for row in runs.poll().rows] == ["another name"]
    assert read == [folders[0].id]
    Run(folders[1]).delete()
    assert runs.poll().removed == [folders[1].id]
    assert [*runs.rows] == [folders[0].id]


def test_many_runs_are_listed_before_their_logs_are_read(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MANY_RUNS", 0)
    folder = recorded(digits)
    runs = RunIndex()
    [row] = runs.poll().rows
    assert not row.complete
    assert (row.steps, row.last_loss, row.curve) == (4, 1.0, ())
    assert runs.incomplete == [folder.id]
    assert runs.complete(runs.incomplete) == [RowReader(folder).read()]
    assert runs.incomplete == []


def test_the_state_of_a_worker_is_followed_until_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run("a", [])  # holds the lock of a watchdog
    runs = RunIndex()
    told = [[row.status for row in runs.poll().rows]]
    for event in ("built", "paused", "resumed"):
        append(run.folder.events_path, [{"event": event, "rss_before_bytes": 1}])
        told.append([row.status for row in runs.poll().rows])
    assert told == [["starting"], ["running"], ["paused"], ["running"]]
    monkeypatch.setattr(read_row, "is_locked", lambda _: False)
    [row] = runs.poll().rows
    assert row.status == "failed"
    assert "wrote no summary" in row.reason


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


UNREADABLE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a newer version": (
        "spec.json",
        lambda path: changed(path, lambda spec: {**spec, "format": 99}),
        "written by a newer workbench",
    ),
    "no JSON": ("spec.json", lambda path: path.write_text("{"), "is not valid JSON"),
    "no spec": ("spec.json", lambda path: path.unlink(), "spec.json is missing"),
    "a wrong setting": (
        "spec.json",
        lambda path: changed(path, lambda spec: {**spec, "samples": "many"}),
        "is corrupt",
    ),
    "no summary": ("summary.json", lambda path: path.write_text("[]"), "not a JSON object"),
    "a pipe": ("spec.json", a_pipe, "is not a file"),
    "a reason that is no text": (
        "summary.json",
        lambda path: changed(path, lambda summary: {**summary, "reason": 5}),
        "is corrupt",
    ),
    "a huge file": (
        "summary.json",
        lambda path: os.truncate(path, LARGEST_BYTES + 1),
        "is larger than 64 MiB",
    ),
}


@pytest.mark.fault
@pytest.mark.parametrize("case", UNREADABLE)
def test_a_run_that_cannot_be_read_is_listed_with_the_reason(digits: Dataset, case: str) -> None:
    name, damage, reason = UNREADABLE[case]
    good, bad = recorded(digits), recorded(digits, "ondevice")
    runs = RunIndex()
    assert len(runs.poll().rows) == 2
    damage(bad.path / name)
    os.utime(bad.path)
    [row] = runs.poll().rows
    assert (row.id, row.status) == (bad.id, "unreadable")
    assert row.complete
    assert runs.incomplete == [], "it is not read again and again"
    assert reason in row.reason
    assert runs.rows[good.id].status == "completed"
    found = {row.id: row.status for row in RunIndex().poll().rows}
    assert found == {good.id: "completed", bad.id: "unreadable"}, "where it was not listed before"


@pytest.mark.fault
@pytest.mark.parametrize(
    "log",
    [
        b"",
        b"\0" * 999,
        b'{"event": "steps", "time": 1.0, "first_step": 1, "losses": [x], ',
        b"[]\n",
    ],
)
def test_a_log_that_is_none_has_no_steps(digits: Dataset, log: bytes) -> None:
    folder = recorded(digits)
    folder.events_path.write_bytes(log + b"\n")
    row = RowReader(folder).read()
    assert row.status == "completed"
    assert math.isnan(row.last_loss)
    assert row.curve == ()


@pytest.mark.fault
def test_settings_written_as_texts_are_refused_by_the_list_as_by_the_run(digits: Dataset) -> None:
    folder = recorded(digits)
    given = {"epochs": "5", "steps": None, "warmup_steps": "5"}
    changed(folder.spec_path, lambda spec: {**spec, "config": {**spec["config"], **given}})
    with pytest.raises(RunFolderError, match=r"config\.epochs='5': must be an integer"):
        _ = Run(folder).progress
    (row,) = RunIndex().poll().rows
    assert row.status == "unreadable"
    assert "config.epochs='5': must be an integer" in row.reason


@pytest.mark.fault
def test_an_error_of_a_reader_affects_its_run_alone(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = recorded(digits), recorded(digits, "ondevice")
    read_summary = RunFolder.read_summary

    def fail(folder: RunFolder) -> Any:
        if folder.id == bad.id:
            raise MemoryError("on purpose")
        return read_summary(folder)

    monkeypatch.setattr(RunFolder, "read_summary", fail)
    rows = {row.id: row for row in RunIndex().poll().rows}
    assert rows[good.id].status == "completed"
    assert rows[bad.id].status == "unreadable"
    assert "MemoryError: on purpose" in rows[bad.id].reason


@pytest.mark.fault
def test_corrupt_labels_leave_the_run_readable(digits: Dataset) -> None:
    folder = recorded(digits)
    folder.labels_path.write_text('{"tags": 3}')
    row = RowReader(folder).read()
    assert row.status == "completed"
    assert "labels.json is corrupt" in row.reason
