"""Checks and preparation before a run is resumed, without any worker."""

from __future__ import annotations

import json
import math
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.recorded import STEPS, changed, model, recorded
from tests.runs.written import LAUNCHED, write_run
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunError, RunFolderError
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.run_folder.control import ControlReader
from workbench.run_folder.events import EventReader
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.training_progress import TrainingProgress
from workbench.runs import Run, load_run, resume
from workbench.runs.continuation.replaced_model import replace_model, restore_model
from workbench.runs.continuation.resuming import (
    CHANGEABLE,
    _changed,
    _check_code,
    _check_model,
    _earlier,
    _has_artifacts,
    _needs_no_code,
    _newest_step,
    _refuse_fixed,
    _remove_later_checkpoints,
    _step_to_resume_from,
)
from workbench.settings.config import make_config

PROGRAM = import_module("workbench.runs.continuation.resuming")


def checkpoint(folder: RunFolder, step: int, engine: str = "ondevice") -> Path:
    path = folder.checkpoint_path(step)
    progress = TrainingProgress(step=step)
    write_checkpoint(path, model().weights(), progress=progress, engine=engine)
    return path


@pytest.fixture
def run(digits: Dataset) -> Run:
    """Has taken 4 steps on device, and holds artifacts: no code is needed."""
    folder = recorded(digits, "ondevice")
    shutil.rmtree(folder.checkpoint_path(STEPS))
    checkpoint(folder, STEPS)
    folder.artifacts_path.mkdir()
    (folder.artifacts_path / "file").touch()
    return Run(folder)


class Started:
    """Stands for the worker that is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.given: list[tuple[Any, ...]] = []
        self.error = error
        monkeypatch.setattr(PROGRAM, "start_worker", self.start)

    def start(self, *given: Any) -> None:
        self.given.append(given)
        if self.error is not None:
            raise self.error


def test_a_resumed_run_has_its_record_and_the_changed_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    run.folder.write_summary({**(run.summary or {}), "ended": 31.0})
    again = resume(run.id, steps=9, learning_rate=0.5)
    [(folder, config, code, lock, detached, package)] = started.given
    assert (folder.id, config.steps, config.learning_rate) == (run.id, 9, 0.5)
    assert (config.engine, config.warmup_steps, detached) == ("ondevice", 1, False)
    assert package == "workbench.worker"
    assert lock is not None
    assert config.loss == run.config.loss
    assert code.environment() == type(code)().environment()
    spec = again.spec
    assert (spec["resumed_from"], spec["detached"]) == (STEPS, False)
    assert (spec["first_launched"], spec["earlier_s"]) == (1.0, 30.0)
    assert spec["launched"] > 1e9
    assert spec["config"]["steps"] == 9
    assert spec["samples"] == run.spec["samples"]
    assert again.progress == (STEPS, 9)
    events = EventReader(run.folder.events_path).poll()
    assert (events[-1]["event"], events[-1]["step"]) == ("resuming", STEPS)
    assert ControlReader(run.folder.control_path).granted(10**9), "there is no limit of steps"
    assert not run.folder.summary_path.exists(), "it would say that the run has ended"
    kept = json.loads((run.folder.path / "spec.previous.json").read_text())
    assert kept["launched"] == 1.0
    assert (run.folder.path / "summary.previous.json").exists()


def test_a_worker_that_cannot_be_started_leaves_the_record(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Started(monkeypatch, RunError("no process"))
    before = run.folder.spec_path.read_bytes(), run.folder.summary_path.read_bytes()
    with pytest.raises(RunError, match="no process"):
        resume(run, steps=9, detached=True)
    assert (run.folder.spec_path.read_bytes(), run.folder.summary_path.read_bytes()) == before
    assert not list(run.folder.path.glob("*.previous*"))


def test_a_second_resumption_keeps_the_first_launch(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Started(monkeypatch)
    changed(run.folder.spec_path, lambda spec: {**spec, "first_launched": 0.5, "earlier_s": 4.0})
    again = resume(load_run(run.id), steps=9, detached=True)
    assert (again.spec["first_launched"], again.spec["detached"]) == (0.5, True)
    assert again.spec["earlier_s"] == 5.0, "one second since its last launch"


def test_when_a_run_was_launched_may_not_be_known() -> None:
    run = write_run("a", [], {"status": "completed", "ended": LAUNCHED + 4})
    assert _earlier(run) == {"first_launched": LAUNCHED, "earlier_s": 4.0}
    del run.spec["launched"]
    assert _earlier(run) == {"first_launched": None, "earlier_s": None}


def test_the_settings_of_a_run_stay_but_for_those_that_are_given() -> None:
    run = write_run("a", [], {"status": "completed"}, steps=7, seed=3, batch_size=5)
    assert _changed(run, {}) == run.config
    longer = _changed(run, {"steps": 9})
    assert (longer.steps, longer.seed, longer.batch_size) == (9, 3, 5)
    epochs = _changed(run, {"epochs": 2})
    assert (epochs.steps, epochs.epochs) == (None, 2), "else the steps would still count"
    both = _changed(run, {"epochs": 2, "steps": 8})
    assert (both.steps, both.epochs) == (8, 2)


def test_every_setting_that_cannot_change_is_reported() -> None:
    with pytest.raises(ConfigError) as refused:
        _refuse_fixed({"seed": 1, "step": 2, "steps": 3, "optimizer": "sgd"}, CHANGEABLE)
    first, second, third = refused.value.problems
    assert first.startswith("seed cannot change in a run that is resumed. ")
    assert second.startswith("step is not a setting. Did you mean 'steps'")
    assert third.startswith("optimizer cannot change in a run that is resumed. ")


def test_a_run_that_has_taken_its_steps_says_how_to_go_on(run: Run) -> None:
    for steps in (STEPS, 3):
        with pytest.raises(ConfigError) as refused:
            _step_to_resume_from(run, run.config.model_copy(update={"steps": steps}))
        assert [*refused.value.problems] == [
            f"Run {run.id} has taken 4 of {steps} steps. Give a larger total: resume(run, "
            "steps=8), or epochs=."
        ]
    assert _step_to_resume_from(run, run.config.model_copy(update={"steps": 5})) == 4


def test_a_run_that_was_killed_after_its_last_checkpoint_has_still_to_end(run: Run) -> None:
    """It has taken its steps, and is not evaluated."""
    config = run.config.model_copy(update={"steps": STEPS})
    run.folder.write_summary({**(run.summary or {}), "status": "failed"})
    assert _step_to_resume_from(run, config) == STEPS
    with pytest.raises(ConfigError, match="has taken 4 of 3 steps"):
        _step_to_resume_from(run, run.config.model_copy(update={"steps": 3}))


def test_the_newest_complete_checkpoint_is_used_and_faults_are_reported(run: Run) -> None:
    folder = run.folder
    older = checkpoint(folder, 2)
    assert _newest_step(folder, "ondevice") == STEPS
    (folder.checkpoint_path(STEPS) / "training.json").write_text("{")
    assert _newest_step(folder, "ondevice") == 2
    (older / "training.json").unlink()
    with pytest.raises(RunFolderError, match="step-00000004"):
        _newest_step(folder, "ondevice")
    for step in (2, STEPS):
        shutil.rmtree(folder.checkpoint_path(step))
    with pytest.raises(RunFolderError) as refused:
        _newest_step(folder, "ondevice")
    assert str(refused.value) == f"Run {run.id} has written no checkpoint to continue from."


def test_checkpoints_after_the_step_are_removed(run: Run) -> None:
    for step in (2, 6, 8):
        checkpoint(run.folder, step)
    _remove_later_checkpoints(run.folder, STEPS)
    assert [path.name for path in run.folder.checkpoints()] == ["step-00000002", "step-00000004"]


def test_a_model_is_that_of_the_checkpoint_or_the_first_weight_is_named(run: Run) -> None:
    _check_model(model(), run.folder, STEPS, ())
    path = run.folder.checkpoint_path(2)
    weights = model().weights()
    for other, said in (
        (
            {**weights, "bias": np.zeros(9, np.float32)},
            r"weight 'bias' has shape \(10,\) and in th",
        ),
        ({"weight": weights["weight"]}, r"weight 'bias' has shape \(10,\) .* checkpoint none\."),
        ({**weights, "a": np.zeros(2)}, r"weight 'a' has shape none and in the checkpoint \(2,\)"),
    ):
        write_checkpoint(path, other)
        with pytest.raises(ModelError, match=f"'line' is not the one that run .* trains: {said}"):
            _check_model(model(), run.folder, 2, ())


def test_a_model_that_was_moved_away_comes_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    previous = tmp_path / "model.previous"
    restore_model(folder)
    assert not folder.model_path.exists()
    previous.mkdir()
    (previous / "old").touch()
    restore_model(folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "old"]
    previous.mkdir()
    restore_model(folder)
    assert (folder.model_path / "old").exists()


def test_functions_of_losses_stay_beside_a_model_that_is_replaced(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.model_path.mkdir(parents=True)
    (folder.model_path / "loss-1.pkl").write_text("kept")
    (folder.model_path / "other.pkl").write_text("gone")
    (folder.model_path / "loss-2.pkl").symlink_to(tmp_path)
    (folder.model_path / "loss-3.pkl").mkdir()
    (tmp_path / "run" / "model.previous").mkdir()
    (tmp_path / "run" / "model.previous" / "older").touch()
    replace_model(folder, model())
    names = {path.name for path in folder.model_path.iterdir()}
    assert {"loss-1.pkl", "model.json"} <= names
    assert not names & {"other.pkl", "loss-2.pkl", "loss-3.pkl", "older"}
    assert (folder.model_path / "loss-1.pkl").read_text() == "kept"
    assert [path.name for path in folder.path.iterdir()] == ["model"]


def test_artifacts_hold_all_that_a_run_on_device_needs(run: Run) -> None:
    config = make_config({"engine": "fake"})
    assert _has_artifacts(run.folder)
    assert _needs_no_code(run, run.config)
    assert not _needs_no_code(run, config)
    (run.folder.artifacts_path / "file").unlink()
    assert not _has_artifacts(run.folder)
    assert not _needs_no_code(run, run.config)
    run.folder.artifacts_path.rmdir()
    assert not _has_artifacts(run.folder)


def test_code_that_only_a_record_names_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_config({"engine": "fake", "loss": len_of})
    builtin = make_config({"engine": "fake"})

    class Saved:
        buildable = False

    _check_code(run, None, builtin, {})
    with pytest.raises(ConfigError, match=rf"The loss of run {run.id} is your own function"):
        _check_code(run, None, own, {})
    _check_code(run, None, own, {"loss": len_of})
    monkeypatch.setattr(PROGRAM, "load_saved", lambda _: Saved)
    with pytest.raises(ModelError, match=rf"The model of run {run.id} is built by your own co"):
        _check_code(run, None, builtin, {})
    _check_code(run, model(), builtin, {})
    _check_code(run, None, run.config, {})
    run.code = model().code
    _check_code(run, None, own, {})


def len_of(output: Any, target: Any) -> Any:
    return (output - target).sum()


@pytest.mark.fault
def test_a_run_without_a_test_split_cannot_stop_early(run: Run, digits: Dataset) -> None:
    shutil.rmtree(run.folder.data_path)
    Dataset("alone", digits.train).save(run.folder.data_path)
    with pytest.raises(ConfigError, match="early_stopping needs a test split, and the run has non"):
        resume(run, steps=9, early_stopping=2)


@pytest.mark.fault
def test_a_run_under_way_is_not_resumed() -> None:
    run = write_run("a", [])
    with pytest.raises(RunError, match=rf"^Run {run.id} is starting; stop it before it is resumed"):
        resume(run, steps=9)


def test_nan_is_no_time() -> None:
    assert math.isnan(write_run("a", [], {"status": "completed", "ended": 3}, steps=1).startup_s)


def test_all_that_a_killed_process_left_is_settled_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    folder = run.folder
    folder.model_path.rename(folder.path / "model.previous")
    checkpoint(folder, 6)
    (folder.checkpoint_path(6) / "training.json").write_text("{")
    killed = RunFolder.create("killed")
    killed.watchdog_lock_path.touch()
    os.utime(killed.path, (1, 1))
    resume(run.id, steps=9)
    assert len(started.given) == 1
    assert folder.model_path.is_dir()
    assert not (folder.path / "model.previous").exists()
    assert [path.name for path in folder.checkpoints()] == ["step-00000004"]
    assert not killed.path.exists()


@pytest.mark.fault
def test_refusals_come_before_a_worker_is_started(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = Started(monkeypatch)
    before = run.folder.spec_path.read_bytes()
    other = run.folder.checkpoint_path(STEPS)
    with monkeypatch.context() as patch:
        patch.setenv("WORKBENCH_STOP_GRACE_S", "soon")
        with pytest.raises(ConfigError, match="WORKBENCH_STOP_GRACE_S='soon'"):
            resume(run.id, steps=9)
    with monkeypatch.context() as patch:
        patch.setattr(PROGRAM, "load_saved", lambda _: Unbuildable)
        patch.setattr(PROGRAM, "_needs_no_code", lambda *_: False)
        with pytest.raises(ModelError, match="is built by your own code"):
            resume(run.id, steps=9)
    with pytest.raises(ModelError, match="is not the one that run"):
        resume(run.id, steps=9, model="digits-mlp")
    with pytest.raises(ConfigError, match=r"[Gg]ive the function"):
        resume(run.id, steps=9, loss=[{"name": "own", "function_sha256": "0" * 64}])
    assert started.given == []
    assert (run.folder.spec_path.read_bytes(), other.is_dir()) == (before, True)
    again = resume(run.id, steps=9, model=model())
    assert (again.model, len(started.given)) == (model(), 1)


class Unbuildable:
    buildable = False
