"""A run that continues from its checkpoint is the run that was never interrupted."""

from __future__ import annotations

import random
import signal
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from torch import nn

from tests.processes import until
from tests.runs.continuation.fake_training import STEPS, slowly, started
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunError
from workbench.load import load_model
from workbench.losses.loss import Loss
from workbench.models import Model
from workbench.run_folder.checkpoint import read_progress
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run, load_run, resume, runs, train
from workbench.runs.continuation.replaced_model import replace_model

KILLS = 100
"""At random instants, by the sweeps."""


def assert_same(found: Run, expected: Run) -> None:
    weights = expected.weights()
    for name, value in found.weights().items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)
    for column in ("step", "epoch", "loss"):
        np.testing.assert_array_equal(found.history[column], expected.history[column])
        np.testing.assert_array_equal(found.evaluations[column], expected.evaluations[column])


def test_a_resumed_run_equals_one_that_was_not_stopped(
    digits: Dataset, uninterrupted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, step_ms=100)
    run = started(digits)
    until(lambda: run.progress.done_steps >= 7)
    run.stop()
    stopped_at = run.wait(60).progress.done_steps
    assert 7 <= stopped_at < STEPS
    monkeypatch.delenv("WORKBENCH_FAKE")
    again = resume(run.id)
    assert again.id == run.id, "it keeps its folder"
    assert again.wait(60).status == "completed"
    assert_same(again, uninterrupted)
    assert_same(load_run(run.id), uninterrupted)
    assert run.status == "completed", "whoever looked at it sees it continue"
    assert list(runs().query("id == @run.id")["steps"]) == [STEPS]
    assert again.startup_s > 0
    assert restored(again) == [stopped_at]
    assert restored(uninterrupted) == []


def test_a_checkpoint_can_be_asked_for(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, step_ms=20)
    run = started(digits, steps=10_000)
    until(lambda: run.progress.done_steps >= 3)
    first = run.save(60)
    done = run.progress.done_steps
    assert read_progress(first).step >= 3
    run.pause()
    until(lambda: run.status == "paused")
    second = run.save(60)
    assert read_progress(second).step >= done
    assert run.save(60) == second, "paused, it has done nothing since"
    with pytest.raises(RunError, match=r"is paused; stop it before it is resumed"):
        resume(run)
    run.stop()
    run.wait(60)
    assert run.save() == run.checkpoint


def test_checkpoints_every_so_many_steps(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = started(digits, checkpoint_every=6, steps=20).wait(60)
    saved = [
        event["step"] for event in run.follow().poll().events if event["event"] == "checkpoint"
    ]
    assert saved == [0, 6, 12, 18, 20]
    slowly(monkeypatch, step_ms=50)
    run = started(digits, checkpoint_every_s=0.2, steps=20).wait(60)
    saved = [
        event["step"] for event in run.follow().poll().events if event["event"] == "checkpoint"
    ]
    assert len(saved) >= 4
    assert saved == sorted(set(saved))


def restored(run: Run) -> list[int]:
    """The steps after which a worker of the run has gone on."""
    events = run.follow().poll().events
    return [event["step"] for event in events if event["event"] == "restored"]


def killed_and_resumed(
    digits: Dataset, after_s: float, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Run, int]:
    """A run whose worker was killed so long after its first step; and how often it was resumed."""
    slowly(monkeypatch)
    run = started(digits, checkpoint_every=1, **settings)
    until(lambda: run.progress.done_steps >= 1 or run.ended)
    time.sleep(after_s)
    if run.watchdog_pid is not None:
        with_children = psutil.Process(run.watchdog_pid).children(recursive=True)
        for process in with_children:
            process.send_signal(signal.SIGKILL)
    try:
        run.wait(60)
    except RunError:
        seen = run.progress.done_steps
        again = resume(load_run(run.id), evaluate=run.config.evaluate)
        assert again.spec["resumed_from"] >= seen - 1, "more than the last step was lost"
        return again.wait(60), 1
    return run, 0


@pytest.mark.usefixtures("real_children")  # a fork ends a little after the process that is killed
def test_a_killed_run_loses_no_more_than_the_steps_since_its_checkpoint(
    digits: Dataset, uninterrupted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saves after every step, so that it is often killed while it saves."""
    resumed = 0
    for after_s in (0.06, 0.11):
        run, times = killed_and_resumed(digits, after_s, monkeypatch)
        assert_same(run, uninterrupted)
        resumed += times
    assert resumed


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("real_children")
def test_a_hundred_kills_at_random_instants(
    digits: Dataset, uninterrupted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants = random.Random(0)
    resumed = 0
    for _ in range(KILLS):
        run, times = killed_and_resumed(digits, instants.uniform(0, 0.4), monkeypatch)
        assert_same(run, uninterrupted)
        resumed += times
    assert resumed >= KILLS // 2


@pytest.mark.sweep
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("real_children")
def test_kills_of_an_engine_with_state_of_its_own(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The native checkpoint, its optimizer and its random state; artifacts are exported once."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    settings: dict[str, Any] = {"engine": "ondevice", "max_grad_norm": 0.1}
    whole = started(digits, checkpoint_every=1, **settings).wait(240)
    instants = random.Random(1)
    resumed = 0
    for _ in range(KILLS):
        after_s = instants.uniform(0, 0.4)
        run, times = killed_and_resumed(digits, after_s, monkeypatch, **settings)
        assert_same(run, whole)
        resumed += times
    assert resumed >= KILLS // 4, "most runs had ended before they were killed"


@pytest.mark.sweep
def test_clipped_gradients_are_the_same_in_every_process(digits: Dataset) -> None:
    """ONNX Runtime hands over gradients in the order of a hash table, another one each time."""

    def trained() -> Run:
        return started(digits, "digits-cnn", engine="ondevice", steps=10, max_grad_norm=0.1).wait(
            120
        )

    whole = trained()
    for _ in range(2):
        assert_same(trained(), whole)


@pytest.mark.sweep
def test_a_completed_run_can_be_trained_further(digits: Dataset) -> None:
    run = started(digits, lr_schedule="constant", steps=20).wait(60)
    with pytest.raises(ConfigError, match=r"has taken 20 of 20 steps.*steps=40"):
        resume(run)
    longer = started(digits, lr_schedule="constant").wait(60)
    again = resume(run, steps=STEPS).wait(60)
    assert again.progress == (STEPS, STEPS)
    np.testing.assert_array_equal(again.history["loss"], longer.history["loss"])


def test_early_stopping_says_that_no_test_loss_was_finite(digits: Dataset) -> None:
    data = deepcopy(digits)
    data.test.inputs[0][:] = 3e38
    run = started(data, engine="ondevice", early_stopping=2, evaluate_every=2).wait(60)
    assert (run.status, run.progress.done_steps) == ("completed", 4)
    assert run.reason == ("Stopped early: the test loss was not finite in the last 2 evaluations.")


@pytest.mark.sweep
def test_early_stopping_counts_on_over_a_resume(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"learning_rate": 30.0, "optimizer": "sgd", "evaluate_every": 2, "steps": 200}
    whole = started(digits, early_stopping=3, **settings).wait(60)
    assert whole.status == "completed"
    assert whole.progress.done_steps < 200
    assert "test loss was lowest" in whole.reason
    losses = whole.evaluations["loss"]
    assert losses.idxmin() == len(losses) - 4, "it ended 3 evaluations after the lowest"
    slowly(monkeypatch, step_ms=50)
    run = started(digits, early_stopping=3, **settings)
    until(lambda: run.progress.done_steps >= whole.progress.done_steps - 3)
    run.stop()
    run.wait(60)
    if not run.reason:
        run = resume(run).wait(60)
    assert run.reason == whole.reason
    assert_same(run, whole)


def test_progress_is_kept_when_a_resumed_run_is_stopped_at_once(
    ended: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ended.summary
    assert before is not None
    assert before["evaluation"]["accuracy"] >= 0
    slowly(monkeypatch, build_ms=60_000)
    again = resume(ended, steps=8)
    until(lambda: again.phase == "building the fake")
    again.stop()
    assert again.wait(60).status == "stopped"
    after = again.summary
    assert after is not None
    assert (after["steps"], after["evaluation"]) == (4, before["evaluation"])
    monkeypatch.delenv("WORKBENCH_FAKE")
    assert (
        resume(ended, steps=6, evaluate=False).wait(60).summary["evaluation"]
        == (before["evaluation"])
    )


def test_a_checkpoint_asked_for_while_a_run_starts_and_after_a_resumption(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, build_ms=500)
    run = started(digits, steps=10_000)
    assert read_progress(run.save(60)).step >= 0
    until(lambda: run.progress.done_steps >= 3)
    run.stop()
    again = resume(run.wait(60))
    until(lambda: again.status == "running" and again.progress.done_steps > 5)
    done = again.progress.done_steps
    assert read_progress(again.save(60)).step >= done
    again.stop()
    again.wait(60)


def test_readers_drop_steps_that_a_resumed_run_repeats(ended: Run) -> None:
    """Also where they had read it before."""
    whole, follower = ended.follow(), ended.follow()
    assert list(follower.poll().step) == [1, 2, 3, 4]
    log = ended.folder.events_path.read_bytes()
    lines = [line for line in log.splitlines(keepends=True) if b'"steps"' in line]
    restored = b'{"event": "restored", "time": 1.0, "step": 1}\n'
    ended.folder.events_path.write_bytes(log + restored + lines[-1])
    points = follower.poll()
    assert points.restored_step == 1
    assert list(whole.poll().step) == [1, *points.step]
    assert follower.poll().restored_step is None


@pytest.mark.sweep
def test_parameters_in_another_memory_format(digits: Dataset) -> None:
    layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    module = layers.to(memory_format=torch.channels_last)
    model = load_model(module, example_inputs=np.zeros((2, 1, 8, 8), "f4"))
    settings: dict[str, Any] = {"engine": "pytorch", "batch_size": 300, "threads": 1}
    expected = train(model, digits, steps=8, **settings).wait(120)
    again = resume(train(model, digits, steps=4, **settings).wait(120), steps=8).wait(120)
    assert_same(again, expected)


def test_a_model_of_ones_own_is_given_again(digits: Dataset, monkeypatch: Any) -> None:
    model = load_model(
        nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), example_inputs=np.zeros((2, 1, 8, 8), "f4")
    )
    settings = {"engine": "pytorch", "steps": 4, "batch_size": 300}
    run = train(model, digits, **settings).wait(120)
    assert resume(run, steps=6).wait(120).progress.done_steps == 6, "this process knows its code"
    with pytest.raises(ModelError, match=r"Pass the model too: resume\(run, model="):
        resume(load_run(run.id), steps=8)
    assert resume(load_run(run.id), model=model, steps=8).wait(120).progress.done_steps == 8


def test_a_model_whose_replacement_was_killed_comes_back(ended: Run) -> None:
    ended.folder.model_path.rename(ended.folder.path / "model.previous")
    again = resume(load_run(ended.id), steps=8)  # by another process than the one that was killed
    assert again.wait(120).progress.done_steps == 8
    assert ended.folder.model_path.is_dir()


def test_a_model_that_cannot_be_saved_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path)
    folder.model_path.mkdir()
    (folder.model_path / "model.json").write_text("old")

    def save(self: Model, path: Path) -> None:
        path.mkdir()
        (path / "model.json").write_text("half")
        raise OSError("no space")

    monkeypatch.setattr(Model, "save", save)
    with pytest.raises(OSError, match="no space"):
        replace_model(folder, load_model("digits-mlp"))
    assert (folder.model_path / "model.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def absolute(output: Any, target: Any) -> Any:
    return (output - target[:, None]).abs().mean()


def test_a_loss_of_ones_own_is_given_again(digits: Dataset) -> None:
    run = train("digits-mlp", digits, engine="pytorch", steps=2, loss=absolute).wait(120)
    with pytest.raises(ConfigError, match=r"Pass the function too: resume\(run, loss="):
        resume(load_run(run.id), steps=4)
    again = resume(load_run(run.id), steps=4, loss=Loss(absolute)).wait(120)
    assert again.progress.done_steps == 4
