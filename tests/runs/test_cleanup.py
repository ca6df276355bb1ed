"""Nothing stays of what was killed, removed or never started, and nothing of others is touched."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.processes import gone, until
from tests.runs.fake_runs import Misbehave, worker_of
from workbench.data import Dataset
from workbench.errors import ArtifactsError, RunError, RunFolderError
from workbench.files.advisory_lock import acquire_lock
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run, load_run, resume, runs, train
from workbench.runs.cleanup import remove_abandoned_files

pytestmark = pytest.mark.fault

LONG = 1_000_000


@pytest.fixture
def running(misbehave: Misbehave) -> Run:
    run = misbehave({"steps": LONG}, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    return run


@pytest.mark.parametrize("attached", [False, True])
def test_a_run_whose_folder_is_removed_ends_and_is_not_made_again(
    running: Run, attached: bool
) -> None:
    worker = worker_of(running)
    run = load_run(running.id) if attached else running
    shutil.rmtree(run.folder.path)
    with pytest.raises(RunError, match="was removed during the run") as caught:
        run.wait(60)
    assert "Log:" not in str(caught.value), "it was removed, too"
    until(gone(worker))
    assert run.status == "failed"
    assert not run.folder.path.exists()
    assert len(runs()) == 0


def test_a_worker_without_a_watchdog_does_not_make_its_folder_again(
    running: Run, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "copy")
    shutil.copytree(running.folder.path, folder.path)
    running.stop()
    folder.events_path.unlink()
    worker = subprocess.Popen(
        [sys.executable, "-m", "workbench.worker", str(folder.path)], stderr=subprocess.PIPE
    )
    run = Run(folder)
    until(lambda: run.progress.done_steps > 0)
    shutil.rmtree(folder.path)
    worker.terminate()
    _, errors = worker.communicate(timeout=60)
    assert worker.returncode == 74, errors
    assert b"No such file" in errors
    assert not folder.path.exists()
    running.wait(60)


LIMITED = """
import resource, sys
import workbench as wb
from workbench.errors import WorkbenchError
data = wb.load_dataset("digits")
model = wb.load_model("digits-mlp")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    wb.train(model, data, engine="fake", steps=5)
except WorkbenchError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("limit_bytes", [10, 1000, 100_000])
def test_a_launch_that_cannot_write_is_an_error_and_leaves_no_files(
    limit_bytes: int, workbench_home: Path
) -> None:
    """At the model's record, at an array, wherever the limit strikes."""
    outcome = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit_bytes)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout.startswith("RunFolderError")
    assert "cannot be written. The " in outcome.stdout
    assert "file is larger than this process may write" in outcome.stdout
    assert len(outcome.stdout.splitlines()) == 1
    assert list((workbench_home / "runs").iterdir()) == []


def test_a_worker_at_its_file_size_limit_reports_it(misbehave: Misbehave, tmp_path: Path) -> None:
    run = misbehave({"steps": 2}).wait(60)
    folder = RunFolder(tmp_path / "copy")
    shutil.copytree(run.folder.path, folder.path)
    folder.summary_path.unlink()
    with folder.events_path.open("ab") as events:
        events.write(b"\n" * 100_000)
    limit = (50_000, resource.RLIM_INFINITY)
    worker = subprocess.run(
        [sys.executable, "-m", "workbench.worker", str(folder.path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
        check=False,
    )
    assert worker.returncode == 1
    summary = folder.read_summary()
    assert summary is not None
    assert "The file is larger than this process may write" in summary["error"]["message"]


def test_a_worker_that_cannot_be_started_leaves_nothing(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RunError, match=r"worker process cannot be started: .*/nowhere/python"):
        train("digits-mlp", digits, engine="fake", steps=1)
    assert list((workbench_home / "runs").iterdir()) == []


def old(path: Path) -> Path:
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    return path


def launching(runs_folder: Path, label: str) -> RunFolder:
    """The folder of a launch that has come no further than the model."""
    folder = RunFolder.create(label, runs_folder)
    folder.watchdog_lock_path.touch()
    (folder.path / ".model.workbench-tmp-x").mkdir()
    return folder


def test_launches_that_were_killed_are_removed_and_those_under_way_are_not(tmp_path: Path) -> None:
    killed = old(launching(tmp_path, "killed").path)
    young = launching(tmp_path, "young").path
    under_way = launching(tmp_path, "under-way")
    lock = acquire_lock(under_way.watchdog_lock_path)
    assert lock is not None
    old(under_way.path)
    foreign = tmp_path / "notes"
    foreign.mkdir()
    (foreign / "text").touch()
    old(foreign)
    remove_abandoned_files(tmp_path)
    assert set(tmp_path.iterdir()) == {young, under_way.path, foreign}
    assert not killed.exists()
    os.close(lock)


def test_a_resume_removes_the_files_of_killed_launches(misbehave: Misbehave) -> None:
    run = misbehave({"steps": 1}).wait(60)
    killed = old(launching(run.folder.path.parent, "killed").path)
    assert resume(run, steps=2).wait(60).status == "completed"
    assert not killed.exists()


def test_checkpoints_that_are_not_whole_go_when_the_worker_is_dead(tmp_path: Path) -> None:
    dead, alive = (launching(tmp_path, label) for label in ("dead", "alive"))
    lock = acquire_lock(alive.watchdog_lock_path)
    assert lock is not None
    for folder in (dead, alive):
        folder.write_spec({})
        (folder.checkpoints_path / ".step-00000007").mkdir(parents=True)
        (folder.checkpoints_path / "step-00000003").mkdir()
    remove_abandoned_files(tmp_path)
    assert [path.name for path in dead.checkpoints_path.iterdir()] == ["step-00000003"]
    assert len(list(alive.checkpoints_path.iterdir())) == 2
    os.close(lock)


@pytest.mark.parametrize("replaced", [False, True])
def test_files_set_aside_by_a_killed_resume_are_restored_or_removed(
    tmp_path: Path, replaced: bool
) -> None:
    dead, alive = (launching(tmp_path, label) for label in ("dead", "alive"))
    lock = acquire_lock(alive.watchdog_lock_path)
    assert lock is not None
    for folder in (dead, alive):
        folder.write_spec({"steps": "new"})
        (folder.path / "model.previous").mkdir()
        (folder.path / "model.previous" / "model.json").write_text("old")
        (folder.path / "spec.previous.json").write_text('{"steps": "old"}')
        (folder.path / "summary.previous.json").write_text("old")
        (folder.path / ".summary.json.watchdog").write_text("half")
        if replaced:
            folder.model_path.mkdir()
            (folder.model_path / "model.json").write_text("new")
            folder.summary_path.write_text("new")
    remove_abandoned_files(tmp_path)
    expected = "new" if replaced else "old"
    assert (dead.model_path / "model.json").read_text() == expected
    assert dead.summary_path.read_text() == expected
    assert json.loads(dead.spec_path.read_text())["steps"] == expected
    left = {path.name for path in dead.path.iterdir()}
    assert not [name for name in left if "previous" in name or name.endswith(".watchdog")]
    assert (alive.path / "model.previous" / "model.json").exists()
    assert (alive.path / "summary.previous.json").exists()
    assert json.loads(alive.spec_path.read_text())["steps"] == "new"
    os.close(lock)


def test_nothing_outside_of_the_runs_is_removed_and_odd_entries_stay(tmp_path: Path) -> None:
    runs_folder, outside = tmp_path / "runs", tmp_path / "out"
    half_written = outside / ".summary.json.abcd1234"
    (outside / ".step-00000001").mkdir(parents=True)
    RunFolder(outside).write_spec({})
    half_written.touch()
    first = launching(runs_folder, "first")
    first.write_spec({})
    first.checkpoints_path.symlink_to(outside)
    (first.path / ".spec.json.folder12").mkdir()
    (first.path / ".notes.json.mine").touch()
    for record in ("summary", "labels"):
        (first.path / f".{record}.json.abcd1234").touch()
    (runs_folder / "linked").symlink_to(outside)
    (runs_folder / "text").touch()
    piped = RunFolder.create("piped", runs_folder)
    piped.write_spec({})
    os.mkfifo(piped.watchdog_lock_path)
    (piped.checkpoints_path / ".step-00000007").mkdir(parents=True)
    (piped.checkpoints_path / ".step-mine").mkdir()
    remove_abandoned_files(runs_folder)
    assert half_written.exists()
    assert (outside / ".step-00000001").exists()
    kept = {path.name for path in first.path.iterdir() if path.name.startswith(".")}
    assert kept == {".model.workbench-tmp-x", ".spec.json.folder12", ".notes.json.mine"}
    assert [path.name for path in piped.checkpoints_path.iterdir()] == [".step-mine"]


def test_a_worker_killed_while_it_saves_leaves_whole_checkpoints_alone(running: Run) -> None:
    unfinished = running.folder.checkpoints_path / ".step-99999999"
    unfinished.mkdir()
    os.kill(worker_of(running), 9)
    with pytest.raises(RunError, match="SIGKILL"):
        running.wait(60)
    assert not unfinished.exists()
    assert running.weights()


def test_room_for_the_summary_is_kept_and_given_back(running: Run) -> None:
    """So that a run on a disk that became full can still say so."""
    lock = running.folder.watchdog_lock_path
    assert lock.stat().st_size > 10_000
    os.kill(worker_of(running), signal.SIGSEGV)
    with pytest.raises(RunError, match="SIGSEGV"):
        running.wait(60)
    assert lock.stat().st_size == 0


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that even root may not write to")
@pytest.mark.parametrize("start", [wb.train, wb.compare])
def test_a_home_that_cannot_be_written_is_an_error(
    start: Callable[..., object], digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", "/sys/workbench")
    engine = {"engine": "fake"} if start is wb.train else {"engines": ["fake"]}
    with pytest.raises(RunFolderError, match=r"/sys/workbench.* cannot be written"):
        start("digits-mlp", digits, steps=1, **engine)


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that even root may not write to")
def test_artifacts_that_cannot_be_written_are_an_error() -> None:
    model = wb.load_model("digits-mlp")
    with pytest.raises(ArtifactsError, match="/sys/artifacts cannot be written"):
        wb.generate_artifacts(model, directory="/sys/artifacts")


def test_half_replaced_folders_are_repaired_and_other_files_removed(
    tmp_path: Path,
) -> None:
    """Whatever stands in place of the earlier model."""
    for place, kind in enumerate(("none", "folder", "file", "link")):
        folder = RunFolder(tmp_path / f"2026-{place}")
        folder.model_path.mkdir(parents=True)
        folder.write_spec({})
        (folder.path / ".spec.json.abcd_123").touch()
        previous = folder.path / "model.previous"
        if kind == "folder":
            (previous / "below").mkdir(parents=True)
        elif kind == "file":
            previous.touch()
        elif kind == "link":
            previous.symlink_to(tmp_path)
        remove_abandoned_files(tmp_path)
        assert {path.name for path in folder.path.iterdir()} <= {
            "model",
            "spec.json",
            "watchdog.lock",
        }
        assert not os.path.lexists(previous), kind
