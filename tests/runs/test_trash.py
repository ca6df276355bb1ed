"""Deleted runs: moved away, brought back, and removed permanently by age or on request."""

from __future__ import annotations

import os
import shutil
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.runs.recorded import recorded
from tests.runs.written import DONE, write_run
from workbench.data import Dataset
from workbench.errors import ConfigError, RunError, RunFolderError
from workbench.files.advisory_lock import acquire_lock, is_locked
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs import Run, load_run, purge_trash, runs, undelete
from workbench.runs.trash import (
    KEPT_DAYS,
    deleted_folders,
    is_deleted,
    move_to_trash,
    restore_from_trash,
    trash,
)


@pytest.fixture
def run(digits: Dataset) -> Run:
    return Run(recorded(digits))


def test_a_deleted_run_comes_back_as_it_was(run: Run) -> None:
    run.tags = ["kept"]
    weights = run.weights()
    path = run.delete()
    assert path == trash() / run.id
    assert runs().empty
    assert list(runs(deleted=True)["id"]) == [run.id]
    assert run.error == f"It was deleted; wb.undelete({run.id!r}) restores it."
    with pytest.raises(RunFolderError, match=r"It was deleted; wb\.undelete"):
        load_run(run.id)
    back = undelete(run.id)
    assert back.tags == ("kept",)
    assert back.status == "completed"
    assert {name: value.tobytes() for name, value in back.weights().items()} == {
        name: value.tobytes() for name, value in weights.items()
    }
    assert runs(deleted=True).empty


def test_old_runs_of_the_trash_are_removed_when_another_is_deleted(digits: Dataset) -> None:
    old, recent, last = (
        Run(recorded(digits, engine)) for engine in ("pytorch", "fake", "ondevice")
    )
    for run, days in ((old, KEPT_DAYS + 1), (recent, KEPT_DAYS - 1)):
        deleted = time.time() - 86400 * days
        os.utime(run.delete(), (deleted, deleted))
    last.delete()
    assert list(runs(deleted=True)["id"]) == [last.id, recent.id]
    assert purge_trash(10) == [recent.id]
    assert purge_trash() == [last.id]
    assert list(trash().iterdir()) == []


def test_the_age_is_in_days_to_the_second(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    old, recent = (Run(recorded(digits, engine)) for engine in ("pytorch", "fake"))
    now_s, ten_days_s = int(time.time()), 10 * 24 * 60 * 60
    for run, age_s in ((old, ten_days_s), (recent, ten_days_s - 1)):
        os.utime(run.delete(), (now_s - age_s, now_s - age_s))
    clock = SimpleNamespace(time=lambda: now_s)
    monkeypatch.setattr(import_module("workbench.runs.trash"), "time", clock)
    assert purge_trash(10) == [old.id]
    assert list(runs(deleted=True)["id"]) == [recent.id]


@pytest.mark.fault
def test_a_run_under_way_is_not_deleted() -> None:
    run = write_run("active", [])
    with pytest.raises(RunError, match=f"Run {run.id} is in progress: stop it"):
        run.delete()
    assert run.folder.path.is_dir()


@pytest.mark.fault
def test_folders_elsewhere_are_not_moved(run: Run, tmp_path: Path) -> None:
    elsewhere = run.folder.path.rename(tmp_path / "elsewhere")
    with pytest.raises(RunFolderError, match="is not among the runs"):
        load_run(elsewhere).delete()
    assert elsewhere.is_dir()


@pytest.mark.fault
def test_deleting_twice_and_a_taken_name_are_errors(run: Run) -> None:
    path = run.delete()
    with pytest.raises(RunFolderError, match="does not exist any more"):
        run.delete()
    run.folder.path.mkdir()
    with pytest.raises(RunFolderError, match="exists: move"):
        undelete(run.id)
    with pytest.raises(RunFolderError, match="The trash holds another run"):
        run.delete()
    assert path.is_dir()


@pytest.mark.fault
@pytest.mark.parametrize("run_id", ["nothing", "", "..", "a/b", 3, None])
def test_only_runs_in_the_trash_are_restored(run_id: str, run: Run) -> None:
    with pytest.raises(RunFolderError, match="No deleted run"):
        undelete(run_id)
    assert run.status == "completed"


@pytest.mark.fault
@pytest.mark.parametrize("days", [-1, "all", float("nan"), True])
def test_a_wrong_age_purges_nothing(days: float, run: Run) -> None:
    run.delete()
    with pytest.raises(ConfigError, match="older_than_days"):
        purge_trash(days)
    assert list(runs(deleted=True)["id"]) == [run.id]


@pytest.mark.fault
def test_a_link_in_the_trash_is_removed_and_not_followed(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    run.delete()
    (trash() / "link").symlink_to(kept)
    assert sorted(purge_trash()) == sorted([run.id, "link"])
    assert (kept / "file").exists()


@pytest.mark.fault
def test_active_and_deleted_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        runs(active=True, deleted=True)


def test_a_trash_of_another_home(tmp_path: Path) -> None:
    at = tmp_path / "other"
    assert trash(at) == at / "trash"
    assert trash() == home() / "trash"
    (at / "runs").mkdir(parents=True)
    made = write_run("a", [], DONE)
    folder = RunFolder(at / "runs" / made.id)
    shutil.copytree(made.folder.path, folder.path)
    assert move_to_trash(folder, at) == at / "trash" / made.id
    assert deleted_folders(at) == [at / "trash" / made.id]
    assert (deleted_folders(), is_deleted(made.id)) == ([], False)
    assert restore_from_trash(made.id, at).path == folder.path
    move_to_trash(folder, at)
    assert purge_trash(1, at) == []
    assert purge_trash(0, at) == [made.id]
    with pytest.raises(
        RunFolderError, match=f"is not among the runs of {home()}, so it is not mov"
    ):
        move_to_trash(folder)


def test_the_trash_lists_its_runs() -> None:
    with pytest.raises(
        RunFolderError, match=r"^No deleted run 'a' in .*trash\. The trash is empty"
    ):
        undelete("a")
    run = write_run("some", [], DONE)
    run.delete()
    assert is_deleted(run.id)
    assert not is_deleted("..")
    with pytest.raises(RunFolderError, match=rf"\. Did you mean '{run.id}'\?$"):
        undelete(run.id[:-2])


def test_a_run_comes_back_where_there_are_no_other_runs() -> None:
    run = write_run("a", [], DONE)
    run.delete()
    (home() / "runs").rmdir()
    assert undelete(run.id).status == "completed"


def test_the_last_deleted_comes_first_and_is_dated_now() -> None:
    first, second = (write_run(label, [], DONE) for label in "ab")
    os.utime(first.folder.path, (5, 5))
    before = time.time() - 1
    path = second.delete()
    os.utime(path, (before - 99, before - 99))
    first.delete()
    assert deleted_folders()[0].stat().st_mtime >= before
    assert [found.name for found in deleted_folders()] == [first.id, second.id]


def test_a_run_in_the_trash_whose_worker_is_alive_is_kept() -> None:
    run, other = (write_run(label, [], DONE) for label in "ab")
    path = run.delete()
    other.delete()
    lock = acquire_lock(path / "watchdog.lock")
    assert lock is not None
    assert purge_trash() == [other.id]
    os.close(lock)
    assert purge_trash() == [run.id]


def test_deleting_leaves_no_lock_behind_and_purges_by_age() -> None:
    assert KEPT_DAYS == 30
    run = write_run("a", [], DONE)
    old = write_run("b", [], DONE).delete()
    month = time.time() - 30 * 86400
    os.utime(old, (month + 60, month + 60))
    path = run.delete()
    assert not is_locked(path / "watchdog.lock")
    assert old.exists()
    os.utime(old, (month - 60, month - 60))
    write_run("c", [], DONE).delete()
    assert not old.exists()


@pytest.mark.fault
def test_a_link_among_the_runs_is_moved_and_not_its_target(tmp_path: Path) -> None:
    run = write_run("a", [], DONE)
    outside = tmp_path / "outside"
    run.folder.path.rename(outside)
    run.folder.path.symlink_to(outside)
    os.utime(outside, (5, 5))
    moved = Run(run.folder).delete()
    assert moved.is_symlink()
    assert outside.stat().st_mtime == 5
    assert not (outside / "watchdog.lock").exists()
    assert purge_trash() == [run.id]
    assert outside.is_dir()


@pytest.mark.fault
def test_a_run_that_is_locked_is_not_deleted() -> None:
    run = write_run("a", [], DONE)
    lock = acquire_lock(run.folder.watchdog_lock_path)
    assert lock is not None
    with pytest.raises(RunError, match=f"^Run {run.id} is in progress: stop it, then delete it.$"):
        run.delete()
    os.close(lock)
    run.delete()
