"""A run continues or ends when the process that started it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.processes import gone, until
from tests.runs.fake_runs import launched_elsewhere, worker_of
from workbench.controller.jobs.job import worker_pids
from workbench.controller.jobs.training import Training
from workbench.data import Dataset
from workbench.errors import ConfigError
from workbench.run_folder.control import grant
from workbench.runs import load_run, runs

LONG = 1_000_000


def test_a_run_whose_kernel_is_gone_keeps_a_checkpoint_and_is_interrupted(
    saved_digits: Path,
) -> None:
    parent, run, worker = launched_elsewhere(saved_digits, steps=LONG, detached=False, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    parent.kill()
    parent.wait()
    assert run.wait(60).status == "interrupted"
    assert run.reason == "The process that started the run has exited."
    assert run.error is None
    summary = run.summary
    assert summary is not None
    assert summary["steps"] > 0
    assert run.checkpoint is not None
    assert run.checkpoint.name == f"step-{summary['steps']:08d}"
    until(gone(worker))
    assert list(runs()["status"]) == ["interrupted"]
    until(lambda: run.id not in set(runs(active=True)["id"]))


def test_a_run_that_is_built_when_its_kernel_goes_is_interrupted_at_once(
    saved_digits: Path,
) -> None:
    parent, run, _ = launched_elsewhere(saved_digits, steps=LONG, detached=False, build_ms=60_000)
    until(lambda: run.phase == "building the fake")
    parent.kill()
    parent.wait()
    assert run.wait(60).status == "interrupted"
    assert run.progress.done_steps == 0


def test_a_detached_run_continues_and_is_controlled_by_another_process(saved_digits: Path) -> None:
    parent, run, worker = launched_elsewhere(saved_digits, steps=LONG, detached=True, step_ms=5)
    until(lambda: run.progress.done_steps > 0)
    assert worker_pids(Training.of(run)) == [worker], "what it takes is not other programs'"
    parent.kill()
    parent.wait()
    seen = run.progress.done_steps
    until(lambda: run.progress.done_steps > seen + 100)
    assert run.spec["detached"] is True
    listed = runs(active=True)
    [row] = listed[listed["id"] == run.id].to_dict("records")
    assert (row["status"], row["folder"]) == ("running", str(run.folder.path))

    again = load_run(run.id)
    assert again.status == "running"
    again.pause()
    until(lambda: again.status == "paused")
    reader = again.follow()
    reader.poll()
    again.resume()
    until(lambda: bool(len(reader.poll().step)))
    # A kernel that ends within "one step" leaves its limit, of which others do not know.
    again.pause()
    until(lambda: again.status == "paused")
    reader.poll()
    grant(run.folder.control_path, again.progress.done_steps)
    again.resume()
    until(lambda: bool(len(reader.poll().step)))
    with pytest.raises(TimeoutError, match="still running"):
        again.wait(0.1)
    again.stop()
    assert again.wait(60).status == "stopped"
    assert again.weights()
    until(gone(worker))


def test_a_detached_run_trains_to_its_end_without_its_kernel(saved_digits: Path) -> None:
    parent, run, _ = launched_elsewhere(saved_digits, steps=300, detached=True, step_ms=5)
    parent.kill()
    parent.wait()
    assert run.wait(60).status == "completed"
    assert len(run.history) == 300


@pytest.mark.fault
def test_detached_is_yes_or_no(digits: Dataset) -> None:
    with pytest.raises(ConfigError, match="detached='yes': give True or False"):
        wb.train("digits-mlp", digits, engine="fake", detached="yes")  # type: ignore[arg-type]
    assert len(runs()) == 0


@pytest.mark.fault
def test_a_comparison_cannot_be_detached(digits: Dataset) -> None:
    with pytest.raises(
        ConfigError, match="detached is not supported: a comparison is controlled by the process"
    ):
        wb.compare("digits-mlp", digits, engines=["fake"], detached=True)
    assert len(runs()) == 0


def test_a_comparison_with_an_interrupted_run_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORKBENCH_FAKE", '{"step_ms": 5}')
    comparison = wb.compare("digits-mlp", engines=["fake"], steps=100_000)
    until(lambda: "fake" in comparison.runs and comparison.runs["fake"].progress.done_steps > 0)
    os.kill(worker_of(comparison.runs["fake"]), signal.SIGTERM)
    assert comparison.wait(60).status == "interrupted"
    assert comparison.ended


def test_the_workers_of_a_comparison_whose_kernel_is_gone_are_interrupted() -> None:
    script = (
        "import workbench as wb, time\n"
        "comparison = wb.compare('digits-mlp', engines=['fake'], steps=1000000)\n"
        "while comparison.progress.done_steps < 2: time.sleep(0.01)\n"
        "print(comparison.id, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    comparison = wb.load_comparison(parent.stdout.readline().strip())
    parent.kill()
    parent.communicate()
    run = comparison.runs["fake"]
    assert run.wait(60).status == "interrupted"
    assert comparison.status == "interrupted"
    assert run.weights()
