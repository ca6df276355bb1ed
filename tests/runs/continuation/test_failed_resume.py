"""A run that cannot be resumed says why and stays what it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.processes import until
from tests.runs.fake_runs import Misbehave
from workbench.data import Dataset
from workbench.engines.ondevice.state import STATE, read_state, write_state
from workbench.engines.torch_base.torch_state import STATE as TORCH_STATE
from workbench.engines.torch_base.torch_state import load_torch_state, save_torch_state
from workbench.errors import ConfigError, EngineError, RunError, RunFolderError
from workbench.files.sha256 import sha256
from workbench.run_folder.checkpoint import (
    TRAINING,
    WEIGHTS,
    read_progress,
    read_weights,
    write_checkpoint,
)
from workbench.runs import Run, load_run, resume, train
from workbench.runs.cleanup import remove_abandoned_files

SETTINGS: dict[str, Any] = {"steps": 4, "batch_size": 300, "threads": 1}


def trained_by(digits: Dataset, engine: str, **settings: Any) -> Run:
    return train("digits-mlp", digits, engine=engine, **{**SETTINGS, **settings}).wait(240)


@pytest.fixture(scope="module")
def trained(digits: Dataset, shared_home: None) -> Run:
    return trained_by(digits, "fake")


def rehash(checkpoint: Path) -> None:
    """Record the hashes of the files as they are: whoever changes files can do so."""
    record = json.loads((checkpoint / TRAINING).read_text())
    files = [path for path in checkpoint.iterdir() if path.name != TRAINING]
    record["files"] = {path.name: sha256(path) for path in files}
    (checkpoint / TRAINING).write_text(json.dumps(record))


def refused(run: Run, words: str, **settings: Any) -> None:
    """Resuming fails in the worker, in a sentence, and the run remains what it was."""
    spec, summary = run.folder.read_spec(), run.folder.read_summary()
    weights = run.weights()
    assert summary is not None
    again = resume(run, steps=8, **settings)
    with pytest.raises(RunError, match=rf"could not be resumed and remains completed: .*{words}"):
        again.wait(120)
    assert again.status == "completed"
    assert run.folder.read_spec() == spec
    now = run.folder.read_summary()
    assert now is not None
    assert now.pop("resume_error")["message"]
    summary.pop("resume_error", None)
    assert now == summary
    found = load_run(run.id)
    assert found.wait(1).status == "completed", "it has not failed"
    assert found.error is None
    assert found.reason.startswith("It could not be resumed: ")
    assert found.progress == (4, 4)
    for name, value in found.weights().items():
        np.testing.assert_array_equal(value, weights[name])
    assert not list(run.folder.path.glob("*.previous*"))


def changed_json(name: str, **fields: Any) -> Callable[[Path], None]:
    def change(checkpoint: Path) -> None:
        record = json.loads((checkpoint / name).read_text())
        record |= fields
        kept = {key: value for key, value in record.items() if value is not ...}
        (checkpoint / name).write_text(json.dumps(kept))

    return change


def changed_tensors(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def write(checkpoint: Path) -> None:
        tensors = dict(load_file(checkpoint / name))
        change(tensors)
        save_file(tensors, checkpoint / name)

    return write


def without(ending: str) -> Callable[[dict[str, Any]], Any]:
    return lambda tensors: tensors.pop(next(name for name in tensors if name.endswith(ending)))


def replaced(ending: str, value: np.ndarray) -> Callable[[dict[str, Any]], Any]:
    return lambda tensors: tensors.update(
        {name: value for name in tensors if name.endswith(ending)}
    )


DAMAGES: dict[str, list[tuple[str, Callable[[Path], None]]]] = {
    "ondevice": [
        (r"ondevice\.json is corrupt: .*batches", changed_json("ondevice.json", batches=...)),
        (r"ondevice\.json is corrupt", changed_json("ondevice.json", batches="many")),
        (r"ondevice\.json is corrupt", changed_json("ondevice.json", batches=-1)),
        ("from other artifacts", changed_json("ondevice.json", training_model="0" * 64)),
        (r"ondevice\.json does not exist", lambda path: (path / "ondevice.json").unlink()),
        (r"ondevice\.checkpoint does not exist", lambda p: (p / "ondevice.checkpoint").unlink()),
        ("belong together", lambda path: cut(path / "ondevice.checkpoint")),
        ("is corrupt: .*'output.bias'", changed_tensors(WEIGHTS, without("output.bias"))),
        (
            "is corrupt: .*'output.bias'",
            changed_tensors(WEIGHTS, replaced("output.bias", np.ones(10, np.float32))),
        ),
    ],
    "pytorch": [
        (
            "incomplete: it has no 'random_state'",
            changed_tensors(TORCH_STATE, without("random_state")),
        ),
        (
            "'random_state' is not of a generator",
            changed_tensors(TORCH_STATE, replaced("random_state", np.zeros(3, np.float32))),
        ),
        (
            r"AdamW keeps \['exp_avg', 'exp_avg_sq', 'step'\]",
            changed_tensors(TORCH_STATE, without("avg")),
        ),
        (
            "is torch.int64, not of floating point",
            changed_tensors(TORCH_STATE, replaced("output.bias:exp_avg", np.zeros(10, np.int64))),
        ),
        (
            r"of shape \(3,\) for a parameter of shape \(10,\)",
            changed_tensors(TORCH_STATE, replaced("output.bias:exp_avg", np.zeros(3, np.float32))),
        ),
        (r"torch_state.safetensors cannot be read", lambda path: cut(path / TORCH_STATE)),
        ("lacks 'output.bias' of the model", changed_tensors(WEIGHTS, without("output.bias"))),
    ],
    "fake": [
        (
            "cannot be restored by engine 'fake': KeyError: 'linear.bias'",
            changed_tensors("square.safetensors", without("linear.bias")),
        ),
    ],
}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.fault
@pytest.mark.parametrize(
    "engine",
    ["fake", *(pytest.param(name, marks=pytest.mark.sweep) for name in ("ondevice", "pytorch"))],
)
def test_state_that_was_changed_with_its_hash_is_refused(engine: str, digits: Dataset) -> None:
    run = trained_by(digits, engine)
    checkpoint = run.folder.checkpoint_path(4)
    good = checkpoint.with_name("good")
    shutil.copytree(checkpoint, good)
    for words, damage in DAMAGES[engine]:
        damage(checkpoint)
        rehash(checkpoint)
        refused(run, words)
        shutil.rmtree(checkpoint)
        shutil.copytree(good, checkpoint)
    shutil.rmtree(good)
    assert resume(run, steps=5).wait(120).status == "completed", "the good one serves"
    assert load_run(run.id).reason == ""


@pytest.mark.fault
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"batches": ...}, r"ondevice\.json is corrupt: .*batches"),
        ({"batches": "many"}, r"ondevice\.json is corrupt: .*batches"),
        ({"batches": -1}, r"ondevice\.json is corrupt: .*batches"),
        ({"training_model": 3}, r"ondevice\.json is corrupt: .*training_model"),
        ({"training_model": "b"}, "was written by a training from other artifacts"),
    ],
)
def test_a_state_of_ondevice_is_checked(fields: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_state(tmp_path, 7, "a")
    assert read_state(tmp_path, "a").batches == 7
    changed_json(STATE, **fields)(tmp_path)
    with pytest.raises(EngineError, match=words):
        read_state(tmp_path, "a")
    (tmp_path / STATE).unlink()
    with pytest.raises(EngineError, match=r"ondevice\.json does not exist"):
        read_state(tmp_path, "a")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("random_state"), "incomplete: it has no 'random_state'"),
        (replaced("random_state", np.zeros(3, np.uint8)), "'random_state' is not of a generator"),
        (replaced("random_state", np.zeros(3, np.float32)), "'random_state' is not of a generator"),
        (without("bias:exp_avg"), r"of the parameter 'bias', and AdamW keeps \['exp_avg', "),
        (replaced("bias:exp_avg", np.zeros(2, np.int64)), "is torch.int64, not of floating point"),
        (replaced("bias:exp_avg", np.zeros(3, np.float32)), r"of shape \(3,\) for a parameter of"),
        (lambda tensors: tensors.update(more=np.zeros(2)), "which does not train here"),
        (lambda tensors: tensors.update({"x:step": np.zeros(2)}), "which does not train here"),
        (lambda t: t.update({"bias:more": np.zeros(2, "f4")}), "of the parameter 'bias', and Adam"),
    ],
)
def test_a_state_of_pytorch_is_checked(
    change: Callable[[dict[str, Any]], Any], words: str, tmp_path: Path
) -> None:
    import torch

    random_state = torch.get_rng_state()
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(module.parameters())
    torch.autograd.backward(module(torch.ones(1, 3)).sum())
    optimizer.step()
    path = tmp_path / TORCH_STATE
    save_torch_state(module, optimizer, path)
    load_torch_state(module, torch.optim.AdamW(module.parameters()), path)
    changed_tensors(TORCH_STATE, change)(tmp_path)
    with pytest.raises(EngineError, match=words):
        load_torch_state(module, torch.optim.AdamW(module.parameters()), path)
    torch.set_rng_state(random_state)


@pytest.mark.fault
def test_a_worker_that_crashes_while_it_restores_leaves_the_run_as_it_was(
    misbehave: Misbehave, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its watchdog writes why."""
    run = misbehave(SETTINGS).wait(60)
    spec = run.folder.read_spec()
    monkeypatch.setenv("WORKBENCH_FAKE", json.dumps({"build_ms": 60_000}))
    again = resume(run, steps=8)

    def workers() -> list[int]:
        events = again.follow().poll().events
        return [event["pid"] for event in events if event["event"] == "started"]

    until(lambda: len(workers()) == 2)
    os.kill(workers()[-1], signal.SIGSEGV)
    with pytest.raises(RunError, match=r"could not be resumed and remains completed: .*SIGSEGV"):
        again.wait(60)
    assert run.folder.read_spec() == spec
    assert load_run(run.id).status == "completed"
    assert "SIGSEGV" in load_run(run.id).reason
    monkeypatch.delenv("WORKBENCH_FAKE")
    assert resume(run, steps=8).wait(60).progress == (8, 8)


@pytest.mark.fault
@pytest.mark.parametrize("another", [False, True])
def test_a_process_that_is_killed_while_it_resumes_loses_no_record(
    another: bool, ended: Run
) -> None:
    """It had moved the records aside, and started no worker; `another` run may start then."""
    folder = ended.folder
    spec = folder.read_spec()
    folder.summary_path.rename(folder.path / "summary.previous.json")
    folder.spec_path.rename(folder.path / "spec.previous.json")
    folder.write_spec({**spec, "resumed_from": 4})
    until(lambda: load_run(ended.id).ended)
    if another:
        remove_abandoned_files(folder.path.parent)  # as each start of a run does
        assert folder.read_spec() == spec
    with pytest.raises(ConfigError, match="has taken 4 of 4 steps"):
        resume(load_run(ended.id))
    assert load_run(ended.id).status == "completed"
    assert folder.read_spec() == spec


@pytest.mark.fault
def test_a_checkpoint_cut_off_anywhere_is_refused(ended: Run) -> None:
    """Every file of it, at every so many bytes; and the older one is used."""
    checkpoint = ended.folder.checkpoint_path(4)
    tried = 0
    for file in sorted(checkpoint.iterdir()):
        content = file.read_bytes()
        for length in range(0, len(content), max(1, len(content) // 60)):
            file.write_bytes(content[:length])
            with pytest.raises(RunFolderError, match=r"corrupt|incomplete|not valid JSON"):
                read_progress(checkpoint)
            tried += 1
        file.write_bytes(content)
    assert tried > 200
    assert read_progress(checkpoint).step == 4


@pytest.mark.fault
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"engine": "pytorch"}, "was written by engine 'pytorch', and the run trains with 'fake'"),
        ({"engine": 3}, r"training\.json is corrupt: engine=3"),
        ({"format": 2}, r"written by a newer workbench \(format 2; .*supports up to 1\)"),
        ({"format": "2"}, r"training\.json is corrupt: format='2'"),
    ],
)
def test_a_checkpoint_of_another_engine_or_version_is_refused(
    ended: Run, fields: dict[str, Any], words: str
) -> None:
    changed_json(TRAINING, **fields)(ended.folder.checkpoint_path(4))
    with pytest.raises(RunFolderError, match=words):
        resume(ended, steps=8)
    assert load_run(ended.id).status == "completed"


@pytest.mark.fault
def test_a_checkpoint_of_a_newer_version_is_not_removed_for_an_older_one(ended: Run) -> None:
    newest, older = ended.folder.checkpoint_path(4), ended.folder.checkpoint_path(2)
    shutil.copytree(newest, older)
    record = json.loads((older / TRAINING).read_text())
    record["progress"]["step"] = 2
    (older / TRAINING).write_text(json.dumps(record))
    assert read_progress(older).step == 2
    changed_json(TRAINING, format=2)(newest)
    with pytest.raises(RunFolderError, match="written by a newer workbench"):
        resume(ended, steps=8)
    assert ended.folder.checkpoints() == [older, newest]


def test_a_checkpoint_from_before_engines_were_recorded_serves(ended: Run) -> None:
    changed_json(TRAINING, engine=..., format=...)(ended.folder.checkpoint_path(4))
    assert resume(ended, steps=5).wait(60).progress == (5, 5)


@pytest.mark.fault
def test_a_step_folder_that_is_a_link_is_no_checkpoint(
    ended: Run, tmp_path: Path, digits: Dataset
) -> None:
    """Neither read nor written through; what it points to stays."""
    checkpoint = ended.folder.checkpoint_path(4)
    outside = tmp_path / "outside"
    checkpoint.rename(outside)
    checkpoint.symlink_to(outside)
    before = sorted(path.name for path in outside.iterdir())
    assert ended.checkpoint is None
    with pytest.raises(RunFolderError, match="has written no checkpoint"):
        resume(ended, steps=8)
    for read in (read_weights, read_progress):
        with pytest.raises(RunFolderError, match="is a symbolic link, not a checkpoint"):
            read(checkpoint)
    with pytest.raises(RunFolderError, match="step-00000004 is a symbolic link"):
        write_checkpoint(checkpoint, {"w": np.zeros(2)})
    assert sorted(path.name for path in outside.iterdir()) == before


@pytest.mark.fault
@pytest.mark.parametrize("timeout", ["abc", "1", True, -1, float("nan"), [1]])
def test_a_timeout_that_is_no_number_of_seconds_is_refused(ended: Run, timeout: Any) -> None:
    for wait in (ended.save, ended.wait):
        with pytest.raises(ConfigError, match=r"timeout=.* must be a number of seconds"):
            wait(timeout)
    assert ended.save(0) == ended.checkpoint
