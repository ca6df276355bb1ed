"""A worker stuck in native code that keeps the interpreter's lock is ended from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import gone, until
from tests.runs.fake_runs import Misbehave, launched_elsewhere, watchdog_of, worker_of
from workbench.errors import RunError
from workbench.run_folder.control import create_control
from workbench.runs import Run, load_run

pytestmark = pytest.mark.fault

LONG = 1_000_000


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_STOP_GRACE_S", "0.5")


def stuck(run: Run) -> int:
    """The worker of `run`, once it keeps the interpreter's lock."""
    reader = run.follow()
    until(lambda: any("lock" in event.get("text", "") for event in reader.poll().events))
    time.sleep(1.0)  # the lock is taken after the event is written, of which nothing tells
    return worker_of(run)


def test_a_memory_limit_holds_for_a_worker_that_is_stuck(misbehave: Misbehave) -> None:
    run = misbehave(
        {"memory_limit_bytes": 400_000_000}, hold_gil_at=3, hold_gil_bytes=1_000_000_000
    )
    with pytest.raises(RunError, match="above its limit of 400 MB"):
        run.wait(60)
    summary = run.summary
    assert summary is not None
    assert summary["peak_rss_bytes"] > 400_000_000
    assert summary["engine"] == "fake"


@pytest.mark.usefixtures("short_grace")
def test_a_stuck_worker_that_is_stopped_is_killed_and_its_checkpoint_stays(
    misbehave: Misbehave,
) -> None:
    run = misbehave(hold_gil_at=1)
    worker = stuck(run)
    run.stop()
    assert run.wait(60).status == "stopped"
    assert "did not stop within 0.5 s and was killed" in run.reason
    assert run.weights()
    until(gone(worker))


@pytest.mark.usefixtures("short_grace")
def test_a_worker_stuck_while_it_builds_is_killed_too(misbehave: Misbehave) -> None:
    run = misbehave(hold_gil_at=0)
    stuck(run)
    run.stop()
    assert run.wait(60).status == "stopped"


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("behaviour", [{"hold_gil_at": 1}, {"ignore_signals": True, "step_ms": 5}])
def test_a_worker_that_does_not_heed_the_end_of_its_kernel_is_killed(
    saved_digits: Path, behaviour: dict[str, object]
) -> None:
    parent, run, worker = launched_elsewhere(saved_digits, steps=LONG, detached=False, **behaviour)
    if "hold_gil_at" in behaviour:
        stuck(run)
    else:
        until(lambda: run.progress.done_steps > 0)
    parent.kill()
    parent.wait()
    assert run.wait(60).status == "interrupted"
    assert "The process that started the run has exited." in run.reason
    assert "was killed" in run.reason
    until(gone(worker))


@pytest.mark.usefixtures("real_children")  # the parent of a fork is no watchdog
@pytest.mark.parametrize("asked", ["worker", "watchdog"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_from_elsewhere_interrupts_a_run(
    misbehave: Misbehave, asked: str, name: str
) -> None:
    run = misbehave({"steps": LONG}, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    pid = worker_of(run) if asked == "worker" else watchdog_of(run)
    os.kill(pid, signal.Signals[name])
    assert run.wait(60).status == "interrupted"
    assert run.reason
    summary = run.summary
    assert summary is not None
    assert run.checkpoint is not None
    assert run.checkpoint.name == f"step-{summary['steps']:08d}"


@pytest.mark.usefixtures("real_children")
def test_a_worker_dies_with_its_watchdog(misbehave: Misbehave) -> None:
    run = misbehave({"steps": LONG}, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    worker = worker_of(run)
    os.kill(watchdog_of(run), signal.SIGKILL)
    until(gone(worker))
    with pytest.raises(RunError, match="SIGKILL"):
        run.wait(60)
    again = load_run(run.id)
    assert again.status == "failed"
    assert again.error == "The worker process no longer exists and wrote no summary."


FORKS = """
import os, signal, sys, time
from pathlib import Path
from workbench.worker.control import Control
control = Control(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    time.sleep(600)
os.kill(child, signal.SIGTERM)
_, status = os.waitpid(child, 0)
time.sleep(0.3)
assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM, status
assert control.interruption == "", control.interruption
"""


def test_a_forked_child_that_is_terminated_does_not_interrupt_the_run(tmp_path: Path) -> None:
    create_control(tmp_path / "control.bin", None)
    command = [sys.executable, "-c", FORKS, str(tmp_path / "control.bin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
