"""What is not resumed, and why: corrupt checkpoints, other settings, models and losses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.runs.continuation.fake_training import slowly, started
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunError, RunFolderError
from workbench.load import load_model
from workbench.run_folder.checkpoint import read_progress
from workbench.runs import Run, load_run, resume, train


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"batch_size": 10}, "batch_size cannot change in a run that is resumed"),
        ({"seed": 1}, "seed cannot change"),
        ({"engine": "pytorch"}, "engine cannot change"),
        ({"stepz": 1}, "stepz is not a setting.*'steps'"),
        ({"steps": 0}, "steps=0"),
        ({"detached": 1}, "detached=1"),
    ],
)
def test_changes_that_make_another_run_are_refused(
    uninterrupted: Run, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        resume(uninterrupted, **settings)


@pytest.mark.fault
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "training.json").unlink(),
        lambda path: (path / "training.json").write_text("{"),
        lambda path: (path / "training.json").write_text('{"progress": {}}'),
        lambda path: truncated(path / "weights.safetensors"),
        lambda path: truncated(path / "mean.safetensors"),
        lambda path: (path / "step.safetensors").unlink(),
        shutil.rmtree,
    ],
)
def test_a_corrupt_checkpoint_is_refused_in_a_sentence(ended: Run, damage: Any) -> None:
    checkpoint = ended.checkpoint
    assert checkpoint is not None
    damage(checkpoint)
    before = sorted(path.name for path in ended.folder.path.iterdir())
    with pytest.raises(RunFolderError, match=r"step-00000004|no checkpoint"):
        resume(ended, steps=8)
    assert sorted(path.name for path in ended.folder.path.iterdir()) == before
    assert load_run(ended.id).status == "completed", "what it came to is not lost"


def test_an_older_checkpoint_serves_where_the_newest_is_corrupt(
    ended: Run, digits: Dataset
) -> None:
    shutil.copytree(ended.folder.checkpoint_path(4), ended.folder.checkpoint_path(6))
    truncated(ended.folder.checkpoint_path(6) / "weights.safetensors")
    again = resume(ended, steps=8).wait(60)
    assert again.progress.done_steps == 8

    assert read_progress(again.folder.checkpoint_path(8)).step == 8
    assert again.checkpoint == again.folder.checkpoint_path(8)


def test_a_corrupt_checkpoint_is_not_exported_by_a_resumed_run(
    ended: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights file is whole, so that only its hashes tell."""
    corrupt = ended.folder.checkpoint_path(6)
    shutil.copytree(ended.folder.checkpoint_path(4), corrupt)
    slowly(monkeypatch, build_ms=60_000)
    again = resume(ended, steps=8)
    assert again.checkpoint == ended.folder.checkpoint_path(4)
    again.stop()
    again.wait(60)


@pytest.mark.fault
def test_a_refused_resumption_leaves_the_record_as_it_was(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train("digits-mlp", digits, engine="pytorch", steps=2, loss=absolute).wait(120)
    before = contents(run.folder.path)
    with pytest.raises(ConfigError, match="Pass the function too"):
        resume(load_run(run.id), model=load_model("digits-mlp"), steps=4)
    assert contents(run.folder.path) == before
    monkeypatch.setenv("WORKBENCH_STOP_GRACE_S", "abc")
    with pytest.raises(ConfigError, match="WORKBENCH_STOP_GRACE_S='abc'"):
        resume(run, steps=4)
    assert contents(run.folder.path) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but locks, which say nothing about a run."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_loss_from_a_record_is_not_unpickled(digits: Dataset, tmp_path: Path) -> None:
    """Whoever hands the recorded loss back has not said that its pickle may be read."""
    run = train("digits-mlp", digits, engine="pytorch", steps=2, loss=absolute).wait(120)
    recorded = load_run(run.id).config.loss
    for loss in (recorded, run.spec["config"]["loss"]):
        with pytest.raises(ConfigError, match=r"[Gg]ive the function"):
            resume(load_run(run.id), steps=4, loss=loss)


def test_another_model_is_refused_and_the_runs_own_stays(ended: Run) -> None:
    before = (ended.folder.model_path / "model.json").read_bytes()
    with pytest.raises(ModelError, match=r"is not the one that run .* trains: weight"):
        resume(ended, model="digits-cnn", steps=8)
    assert (ended.folder.model_path / "model.json").read_bytes() == before
    assert load_run(ended.id).status == "completed"


def test_a_run_is_resumed_once_at_a_time(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, step_ms=20)
    run = started(digits, steps=4).wait(120)
    first = resume(run.id, steps=400)
    assert first.status in ("starting", "running"), "whatever the record said before"
    assert run.status in ("starting", "running"), "and so do those who looked at it before"
    for again in (run, run.id):
        with pytest.raises(RunError, match=r"stop it before it is resumed|still running"):
            resume(again, steps=500)
    first.stop()
    assert first.wait(120).status == "stopped"
    assert run.status == "stopped"


def test_no_link_is_followed(ended: Run, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    ended.folder.control_path.unlink()
    ended.folder.control_path.symlink_to(victim)
    ended.folder.log_path.unlink()
    ended.folder.log_path.symlink_to(victim)
    with pytest.raises(RunFolderError, match=r"cannot be written"):
        resume(ended, steps=8)
    assert victim.read_text() == "precious"


@pytest.mark.fault
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("step", -1),
        ("step", 4.0),
        ("step", "4"),
        ("step", None),
        ("step", 5),
        ("step", 2**62),
        ("best_loss", float("nan")),
        ("best_loss", float("inf")),
        ("evaluations_since", -1),
        ("more", 1),
    ],
)
def test_a_progress_that_cannot_be_is_refused(ended: Run, field: str, value: Any) -> None:
    checkpoint = ended.checkpoint
    assert checkpoint is not None
    record = json.loads((checkpoint / "training.json").read_text())
    record["progress"][field] = value
    (checkpoint / "training.json").write_text(json.dumps(record))
    with pytest.raises(RunFolderError, match=r"training\.json is corrupt"):
        resume(ended, steps=8)
    assert load_run(ended.id).status == "completed"


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def absolute(output: Any, target: Any) -> Any:
    return (output - target[:, None]).abs().mean()
