"""Runs that two processes train: as one process does, and ended by the death of either."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

import workbench as wb
from tests.answers import ROOT
from tests.controller.recording_view import PATIENCE_S, RecordingView
from tests.processes import gone, until
from tests.ranks.networks import FailsOnRank1, large, sum_of_rows
from workbench.controller import Controller, Setup
from workbench.errors import ConfigError, RunError
from workbench.run_folder.control import grant
from workbench.run_folder.run_reader import NewPoints
from workbench.runs import Run, prepare
from workbench.runs.launch import launch

STEPS = 20
SETTINGS: dict[str, Any] = {
    "engine": "pytorch",
    "steps": STEPS,
    "batch_size": 32,
    "threads": 2,
    "checkpoint_every": 5,
    "gradient_accumulation": 2,
    "lr_schedule": "linear",
    "evaluate_every": 10,
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def uninterrupted() -> Run:
    return wb.train("digits-mlp", processes=2, **SETTINGS).wait()


def test_two_processes_train_as_one(uninterrupted: Run) -> None:
    one = wb.train("digits-mlp", **SETTINGS).wait()
    worst = np.abs(one.history["loss"] - uninterrupted.history["loss"]).max()
    assert worst <= 1e-5
    expected, found = one.weights(), uninterrupted.weights()
    assert max(np.abs(found[name] - expected[name]).max() for name in expected) <= 1e-5
    evaluated = one.evaluations, uninterrupted.evaluations
    assert [*evaluated[0]["step"]] == [*evaluated[1]["step"]] == [10, 20]
    assert np.abs(evaluated[0]["loss"] - evaluated[1]["loss"]).max() <= 1e-5


@pytest.mark.sweep
@pytest.mark.parametrize("engine", ["pytorch", "ortmodule"])
def test_four_processes_train_as_one(uninterrupted: Run, engine: str) -> None:
    """On fewer cores than that, too."""
    four = wb.train("digits-mlp", processes=4, **{**SETTINGS, "engine": engine}).wait()
    assert np.abs(four.history["loss"] - uninterrupted.history["loss"]).max() <= 1e-5
    expected, found = uninterrupted.weights(), four.weights()
    assert max(np.abs(found[name] - expected[name]).max() for name in expected) <= 1e-5
    assert four.summary is not None
    assert len(four.summary["rank_peak_rss_bytes"]) == 4


def test_memory_is_recorded_by_rank_and_throughput_of_all(uninterrupted: Run) -> None:
    history, summary = uninterrupted.history, uninterrupted.summary
    assert summary is not None
    ranks = history[["rank_0_rss_bytes", "rank_1_rss_bytes"]]
    assert (ranks > 50e6).all(axis=None)
    assert (ranks.sum(axis=1) == history["rss_bytes"]).all()
    assert len(summary["rank_peak_rss_bytes"]) == 2
    assert sum(summary["rank_peak_rss_bytes"]) == summary["peak_rss_bytes"]
    samples = history["samples_per_s"] * history["seconds"]
    assert np.allclose(samples, 64), "samples of both ranks, in both batches of a step"


@pytest.mark.fault
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.sweep), 1])
def test_a_rank_that_dies_ends_the_run_with_its_reason(uninterrupted: Run, killed: int) -> None:
    model, data, config = prepare("digits-mlp", None, {**SETTINGS, "processes": 2})
    started = launch(model, data, config, granted_steps=7)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until(lambda: run.progress.done_steps == 7)
    ranks = ranks_of(run)
    assert len(ranks) == 2
    page = Watching()
    controller = Controller(page, Setup(engines=["pytorch"]))
    controller.show(run)
    until(lambda: page.steps.get("pytorch") == [1, 2, 3, 4, 5, 6, 7])
    os.kill(ranks[str(killed)].pid, signal.SIGKILL)
    with pytest.raises(RunError, match=rf"Rank {killed} was killed by SIGKILL"):
        run.wait(60)
    assert controller.wait(PATIENCE_S)
    controller.close()
    assert f"Rank {killed} was killed by SIGKILL" in controller.state.message
    assert controller.state.level == "error"
    assert page.ranks == {2}, "a line for the memory of each"
    for each in ranks.values():
        until(gone(each.pid))
    assert run.status == "failed"
    resumed = wb.resume(run).wait()
    assert resumed.status == "completed"
    assert [*resumed.history["step"]] == [*range(1, STEPS + 1)]
    assert (resumed.history["loss"] == uninterrupted.history["loss"]).all()
    expected, found = uninterrupted.weights(), resumed.weights()
    assert all((found[name] == expected[name]).all() for name in expected)


@pytest.mark.sweep
@pytest.mark.fault
def test_an_exception_of_a_rank_that_follows_ends_the_run_with_its_reason() -> None:
    model = wb.load_model(FailsOnRank1(), example_inputs=torch.zeros(2, 12))
    x = np.zeros((64, 12), np.float32)
    data = wb.load_dataset(x, np.arange(64) % 5, test_fraction=0)
    run = wb.train(model, data, **{**SETTINGS, "gradient_accumulation": 1}, processes=2)
    with pytest.raises(RunError, match=r"Rank 1 failed: IndexError: index 7 is out of range\. The"):
        run.wait(60)
    assert run.status == "failed"
    assert run.summary is not None
    assert "raise IndexError" in run.summary["error"]["traceback"]
    assert 0 < len(run.history) < STEPS


class Watching(RecordingView):
    """A view that records states, and of how many ranks it has the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.ranks: set[int] = set()

    def add_points(self, engine: str, points: NewPoints) -> None:
        super().add_points(engine, points)
        self.ranks |= {len(points.rank_rss_bytes)} if len(points.step) else set()


def ranks_of(run: Run) -> dict[str, psutil.Process]:
    """By their number."""
    found = {}
    for each in family(run):
        with contextlib.suppress(psutil.Error):  # one that is about to become another program
            if "workbench.ranks.rank" in each.cmdline():
                found[each.environ()["RANK"]] = each
    return found


def family(run: Run) -> list[psutil.Process]:
    """All processes of a run but its watchdog."""
    assert run.watchdog_pid is not None
    return psutil.Process(run.watchdog_pid).children(recursive=True)


@pytest.mark.fault
@pytest.mark.sweep
def test_nothing_is_left_when_the_agent_dies() -> None:
    model, data, config = prepare("digits-mlp", None, {**SETTINGS, "processes": 2})
    started = launch(model, data, config, granted_steps=3)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until(lambda: run.progress.done_steps == 3)
    every = family(run)
    (agent,) = (each for each in every if each.ppid() == run.watchdog_pid)
    os.kill(agent.pid, signal.SIGKILL)
    with pytest.raises(RunError, match="The worker was killed by SIGKILL"):
        run.wait(60)
    for each in every:
        until(gone(each.pid))


STARTS: dict[str, tuple[str, signal.Signals, str, str]] = {
    "agent-terminated": ("agent", signal.SIGTERM, "importing", "The worker was killed by SIGTERM"),
    "agent-killed": ("agent", signal.SIGKILL, "exporting", "The worker was killed by SIGKILL"),
    "rank-0-killed": ("0", signal.SIGKILL, "exporting", "Rank 0 was killed by SIGKILL"),
    "rank-1-killed": ("1", signal.SIGKILL, "importing", "Rank 1 was killed by SIGKILL"),
    "rank-1-killed-later": ("1", signal.SIGKILL, "exporting", "Rank 1 was killed by SIGKILL"),
}
"""Which process gets which signal, while the ranks do what, and what the run says."""


@pytest.mark.fault
@pytest.mark.sweep
@pytest.mark.parametrize("case", STARTS)
def test_nothing_is_left_of_a_run_that_dies_while_it_starts(case: str) -> None:
    who, number, phase, reason = STARTS[case]
    settings = {**SETTINGS, "engine": "ortmodule", "processes": 2}
    model, data, config = prepare("text-gpt", None, settings)
    started = launch(model, data, config)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until(lambda: len(ranks_of(run)) == 2)
    if phase == "exporting":
        path = run.folder.events_path
        until(lambda: path.exists() and b"exporting the model" in path.read_bytes())
    every = family(run)
    (agent,) = (each for each in every if each.ppid() == run.watchdog_pid)
    victim = agent if who == "agent" else ranks_of(run)[who]
    os.kill(victim.pid, number)
    with pytest.raises(RunError, match=reason):
        run.wait(60)
    for each in every:
        until(gone(each.pid))


@pytest.mark.fault
@pytest.mark.sweep
@pytest.mark.parametrize("who", ["0", "1"])
def test_a_rank_that_dies_during_a_checkpoint_leaves_the_one_before(who: str) -> None:
    model = wb.load_model(large(), example_inputs=torch.zeros(2, 12))
    rows = np.random.default_rng(0)
    data = wb.load_dataset(rows.random((64, 12), np.float32), np.arange(64) % 5, test_fraction=0)
    settings = {**SETTINGS, "gradient_accumulation": 1, "steps": 6, "checkpoint_every": 2}
    _, _, config = prepare(model, data, {**settings, "processes": 2})
    whole = wb.train(model, data, **settings, processes=2).wait()
    started = launch(model, data, config)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until((run.folder.path / "checkpoints" / ".step-00000004").exists)
    os.kill(ranks_of(run)[who].pid, signal.SIGKILL)
    with pytest.raises(RunError, match=rf"Rank {who} was killed by SIGKILL"):
        run.wait(60)
    assert [path.name for path in run.folder.checkpoints()] == ["step-00000002"]
    resumed = wb.resume(run).wait()
    assert (resumed.history["loss"] == whole.history["loss"]).all()
    expected, found = whole.weights(), resumed.weights()
    assert all((found[name] == expected[name]).all() for name in expected)


@pytest.mark.fault
@pytest.mark.sweep
def test_a_run_is_interrupted_when_its_parent_process_dies() -> None:
    """As when a notebook's kernel is restarted."""
    code = (
        "import os, signal\n"
        "from tests.ranks.test_ranks import *\n"
        "model, data, config = prepare('digits-mlp', None, {**SETTINGS, 'processes': 2})\n"
        "started = launch(model, data, config, granted_steps=7)\n"
        "run = Run(started.folder, worker=started.worker, model=model, code=started.code)\n"
        "until(lambda: run.progress.done_steps == 7)\n"
        "print(run.folder.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    run = wb.load_run(done.stdout.strip())
    run.wait(60)
    assert (run.status, run.reason) == (
        "interrupted",
        "The process that started the run has exited.",
    )
    assert wb.resume(run).wait().status == "completed"


@pytest.mark.fault
@pytest.mark.sweep  # tests/engines/torch_base/test_independent_rows.py
def test_a_loss_that_is_no_mean_over_rows_is_refused() -> None:
    with pytest.raises(RunError, match=r"loss sum_of_rows is .* Let it return the mean over rows"):
        wb.train("digits-mlp", loss=sum_of_rows, **SETTINGS, processes=2).wait()


@pytest.mark.sweep
def test_a_run_is_stopped_and_resumed(uninterrupted: Run) -> None:
    model, data, config = prepare("digits-mlp", None, {**SETTINGS, "processes": 2})
    started = launch(model, data, config, granted_steps=7)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until(lambda: run.progress.done_steps == 7)
    run.pause()
    until(lambda: run.status == "paused")
    run.resume()
    grant(run.folder.control_path, 9)
    until(lambda: run.progress.done_steps == 9)
    run.stop()
    run.wait(60)
    assert (run.status, run.summary and run.summary["steps"]) == ("stopped", 9)
    resumed = wb.resume(run).wait()
    assert (resumed.history["loss"] == uninterrupted.history["loss"]).all()


@pytest.mark.sweep
def test_a_run_that_is_interrupted_says_why() -> None:
    model, data, config = prepare("digits-mlp", None, {**SETTINGS, "processes": 2})
    started = launch(model, data, config, granted_steps=7)
    run = Run(started.folder, worker=started.worker, model=model, code=started.code)
    until(lambda: run.progress.done_steps == 7)
    assert run.watchdog_pid is not None
    os.kill(run.watchdog_pid, signal.SIGTERM)
    run.wait(60)
    assert (run.status, run.reason) == ("interrupted", "The run received SIGTERM.")
    assert run.summary is not None
    assert run.summary["steps"] == 7


@pytest.mark.sweep
def test_a_comparison_trains_in_several_processes() -> None:
    compared = wb.compare(
        "digits-mlp", engines=["pytorch", "ortmodule"], steps=25, processes=2, threads=2
    ).wait()
    table = compared.table()
    assert [*table["status"]] == ["completed", "completed"]
    assert table.loc["ortmodule", "max_loss_difference"] <= 1e-5
    assert table["ratio"].notna().all()


@pytest.mark.sweep
def test_layers_that_compute_across_rows_are_refused() -> None:
    with pytest.raises(RunError, match=r"'norm1' is a BatchNorm2d.*Train in one process"):
        wb.train("digits-cnn", **{**SETTINGS, "steps": 2}, processes=2).wait()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"engine": "ondevice"}, "engine 'ondevice' trains in one process; pytorch and ortmodule"),
        ({"engine": "pytorch-compile"}, "engine 'pytorch-compile' trains in one process"),
        ({"batch_size": 33}, "batch_size=33 cannot be divided by 2"),
        ({"memory_limit_bytes": 10**9}, "memory_limit_bytes limits a single process"),
        ({"device": "phone"}, "device limits a single process"),
        ({"processes": 0}, "processes=0"),
    ],
)
def test_settings_unsupported_by_several_processes_are_refused(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        wb.train("digits-mlp", **{**SETTINGS, "processes": 2, **settings})


def test_other_packages_get_no_ranks_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run that is started under torchrun is one of its own."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    run = wb.train("digits-mlp", engine="fake", steps=2).wait()
    assert run.status == "completed"
