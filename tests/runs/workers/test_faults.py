"""A fault in a worker is an error message in the kernel, and nothing is lost."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import until
from tests.runs.fake_runs import Misbehave
from tests.runs.test_run import LONG
from workbench.errors import RunError, RunFolderError
from workbench.run_folder.run_folder import FORMAT_VERSION, RunFolder
from workbench.runs import load_run, runs

pytestmark = pytest.mark.fault


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGFPE", "SIGABRT"])
def test_a_worker_ended_by_a_signal_says_which(misbehave: Misbehave, name: str) -> None:
    run = misbehave(signal_at=[50, name], step_ms=5)
    with pytest.raises(RunError, match=f"fake failed after step .*{name}") as caught:
        run.wait(60)
    assert str(run.folder.log_path) in str(caught.value)
    assert run.status == "failed"
    assert name in (run.error or "")
    # What it recorded and its checkpoint are still there.
    assert len(run.history) > 10
    assert run.checkpoint is not None
    assert run.weights()


def test_a_worker_that_raises_says_engine_and_step_and_its_log_the_rest(
    misbehave: Misbehave,
) -> None:
    run = misbehave(raise_at=7)
    with pytest.raises(RunError, match="asked to raise at step 7") as caught:
        run.wait(60)
    assert "fake failed after step" in str(caught.value)
    assert "Traceback" not in str(caught.value), "what it says is a sentence of its own"
    assert "Traceback" in run.folder.log_path.read_text(encoding="utf-8")


def test_an_engine_that_cannot_be_built_says_why(misbehave: Misbehave) -> None:
    run = misbehave(raise_while_building=True)
    with pytest.raises(RunError, match="asked to raise while building"):
        run.wait(60)
    assert run.checkpoint is None
    with pytest.raises(RunError, match="no checkpoint"):
        run.export("never.onnx")


def test_a_loss_that_is_no_number_stops_the_run(misbehave: Misbehave) -> None:
    run = misbehave({"batch_size": 100, "steps": 100, "checkpoint_every": 30}, nan_at=80)
    with pytest.raises(RunError, match="loss is nan at step 80"):
        run.wait(60)
    assert len(run.history) == 80
    assert run.history["loss"].isna().sum() == 1
    assert run.checkpoint is not None
    assert run.checkpoint.name == "step-00000060", "the last good one: none came after the NaN"


def test_a_worker_over_its_memory_limit_is_ended_with_an_error(misbehave: Misbehave) -> None:
    run = misbehave({"memory_limit_bytes": 400_000_000}, allocate_bytes=8_000_000, step_ms=5)
    with pytest.raises(RunError, match="above its limit of 400 MB"):
        run.wait(60)
    assert run.status == "failed"


FULL_DISK = """
import os, sys
from workbench.run_folder import events
from workbench.worker.process import main
from workbench.worker.train_run import train_run
# A device that is always full stands in for the record of events.
events.open_regular = lambda path, flags: os.open("/dev/full", os.O_WRONLY)
sys.exit(main(train_run))
"""


def test_a_full_disk_is_an_error_and_the_record_so_far_is_kept(
    misbehave: Misbehave, tmp_path: Path
) -> None:
    run = misbehave({"steps": 2}).wait(60)
    folder = RunFolder(tmp_path / "copy")
    shutil.copytree(run.folder.path, folder.path)
    folder.summary_path.unlink()
    folder.events_path.unlink()
    worker = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(folder.path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert worker.returncode == 1, worker.stderr
    summary = folder.read_summary()
    assert summary is not None
    assert summary["status"] == "failed"
    assert "The disk is full" in summary["error"]["message"]
    assert folder.checkpoints()


def test_a_control_file_that_is_removed_is_named(misbehave: Misbehave) -> None:
    run = misbehave({"steps": LONG}, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    run.folder.control_path.unlink()
    with pytest.raises(RunError, match=r"control\.bin was removed or replaced"):
        run.wait(60)


def test_a_worker_without_a_control_file_is_an_error(misbehave: Misbehave, tmp_path: Path) -> None:
    run = misbehave({"steps": 2}).wait(60)
    folder = RunFolder(tmp_path / "copy")
    shutil.copytree(run.folder.path, folder.path)
    folder.summary_path.unlink()
    folder.control_path.unlink()
    assert _worker(folder.path).returncode == 1
    summary = folder.read_summary()
    assert summary is not None
    assert "control.bin is missing" in summary["error"]["message"]


def test_two_workers_cannot_share_a_folder(misbehave: Misbehave) -> None:
    run = misbehave({"steps": LONG}, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    second = _worker(run.folder.path)
    assert second.returncode == 73
    assert "already has a worker" in second.stderr
    assert run.status == "running"
    run.stop()
    run.wait(60)
    assert run.status == "stopped"


def test_a_run_that_has_ended_is_not_run_again(misbehave: Misbehave) -> None:
    run = misbehave({"steps": 2})
    run.wait(60)
    summary = run.summary
    again = _worker(run.folder.path)
    assert again.returncode == 74
    assert "has ended" in again.stderr
    assert run.summary == summary


def test_a_run_from_a_newer_version_is_refused_by_all(misbehave: Misbehave) -> None:
    run = misbehave({"steps": 2})
    run.wait(60)
    spec = json.loads(run.folder.spec_path.read_text())
    run.folder.spec_path.write_text(json.dumps({**spec, "format": FORMAT_VERSION + 1}))
    with pytest.raises(RunFolderError, match="newer workbench"):
        load_run(run.id)
    assert list(runs()["status"]) == ["unreadable"]
    worker = _worker(run.folder.path)
    assert worker.returncode == 74
    assert "newer workbench" in worker.stderr


def test_a_run_whose_watcher_and_worker_are_gone_is_failed(
    misbehave: Misbehave, tmp_path: Path
) -> None:
    run = misbehave({"steps": 2}).wait(60)
    shutil.copytree(run.folder.path, tmp_path / "copy")
    (tmp_path / "copy" / "summary.json").unlink()
    lost = load_run(tmp_path / "copy")
    assert lost.status == "failed"
    assert "no longer exists" in (lost.error or "")


def test_a_torn_last_line_loses_only_itself(misbehave: Misbehave) -> None:
    run = misbehave({"steps": 20})
    run.wait(60)
    with run.folder.events_path.open("ab") as file:
        file.write(b'{"event": "steps", "first_step": 21, "los')
    assert len(load_run(run.id).history) == 20


def _worker(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench.worker", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
