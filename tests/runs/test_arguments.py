"""Arguments of `train`, `resume` and `load_run`: accepted ones, and refusals at once."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.runs.recorded import model, recorded
from tests.runs.written import write_run
from workbench.data import Dataset
from workbench.errors import ConfigError, DataError, EngineError, RunFolderError
from workbench.files.sha256 import sha256
from workbench.run_folder.run_folder import home
from workbench.runs import Run, from_base, load_run, prepare, resume, train
from workbench.settings.config import TrainingConfig

TRAIN = import_module("workbench.runs.train")
PREPARE = import_module("workbench.runs.prepare")


def fake(**settings: Any) -> dict[str, Any]:
    return {"engine": "fake", "threads": 1, **settings}


def test_a_step_may_take_the_whole_split(digits: Dataset) -> None:
    rows = len(digits.train)
    size = rows // 3
    settings = fake(batch_size=size, gradient_accumulation=3)
    assert prepare(model(), digits, settings)[2].samples_per_step == 3 * size
    with pytest.raises(DataError) as refused:
        prepare(model(), digits, {**settings, "gradient_accumulation": 4})
    assert str(refused.value) == (
        f"gradient_accumulation=4 batches of {size} are more than the {rows} training samples of "
        f"'digits'; choose 3 or less."
    )
    with pytest.raises(DataError) as refused:
        prepare(model(), digits, fake(batch_size=rows + 1))
    assert str(refused.value) == (
        f"batch_size={rows + 1} is larger than the {rows} training samples of 'digits'; use at "
        f"most {rows}."
    )


def test_early_stopping_needs_a_test_split(digits: Dataset) -> None:
    alone = Dataset("alone", digits.train)
    assert prepare(model(), digits, fake(early_stopping=2))[1] is digits
    assert prepare(model(), alone, fake())[1] is alone
    with pytest.raises(DataError, match="test loss, and 'alone' has no test split"):
        prepare(model(), alone, fake(early_stopping=2))


def test_a_sample_brings_its_dataset_and_a_model_of_ones_own_none(digits: Dataset) -> None:
    loaded, data, config = prepare("digits-mlp", None, fake(steps=3))
    assert (loaded.name, data.name, config.steps) == ("digits-mlp", "digits", 3)
    assert prepare(loaded, "digits", fake())[0] is loaded
    with pytest.raises(DataError, match="Model 'line' has no default dataset; pass one as the sec"):
        prepare(model(), None, fake())


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"engine": "ortmodule"}, EngineError, "'ortmodule' needs an nn.Module, and 'line' was"),
        ({"requires_grad": ("nothing",)}, ConfigError, "pattern 'nothing' matches no"),
        ({"lora": {"rank": 2, "targets": ("nothing",)}}, ConfigError, "nothing"),
        ({"loss": "nonsense"}, ConfigError, "nonsense"),
    ],
)
def test_settings_that_do_not_fit_the_model(
    digits: Dataset, settings: dict[str, Any], error: type, said: str
) -> None:
    with pytest.raises(error, match=said):
        prepare(model(), digits, fake(**settings))


@pytest.mark.fault
def test_a_dataset_that_does_not_fit_the_model(digits: Dataset) -> None:
    from workbench.load import load_dataset

    wrong = load_dataset(np.zeros((40, 3), np.float32), np.zeros(40, np.int64))
    with pytest.raises(DataError, match="Input"):
        prepare(model(), wrong, fake())


@pytest.mark.fault
@pytest.mark.parametrize("detached", [1, 0, None, "no"])
def test_detached_is_true_or_false(digits: Dataset, detached: Any) -> None:
    said = rf"detached={detached!r}: give True or False\."
    with pytest.raises(ConfigError, match=said):
        train(model(), digits, detached=detached, **fake())
    with pytest.raises(ConfigError, match=said):
        resume("nothing", detached=detached)
    assert not (home() / "runs").exists()


def test_the_run_has_the_given_arguments(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recorded(digits)
    worker, code = SimpleNamespace(poll=lambda: None, pid=3), object()
    asked: list[tuple[Any, ...]] = []

    def launch(*given: Any, **named: Any) -> Any:
        asked.append((*given, named))
        return SimpleNamespace(folder=folder, worker=worker, code=code)

    monkeypatch.setattr(TRAIN, "launch", launch)
    run = train(model(), digits, **fake(steps=3))
    assert (run.id, run.model, run.code, run.watchdog_pid) == (folder.id, model(), code, 3)
    [(loaded, data, config, named)] = asked
    assert (loaded, data, config.steps) == (model(), digits, 3)
    assert named == {"detached": False, "base": None}
    train(model(), digits, detached=True, **fake())
    assert asked[-1][-1]["detached"] is True


def test_settings_replace_the_defaults_of_the_model(digits: Dataset) -> None:
    loaded, _, config = prepare("digits-mlp", digits, fake(batch_size=7))
    assert config.batch_size == 7
    assert loaded.defaults.items() <= {**config.model_dump(), **loaded.defaults}.items()
    for name, value in prepare("digits-mlp", digits, {})[0].defaults.items():
        assert getattr(prepare("digits-mlp", digits, {})[2], name) == value, name


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "base.safetensors"
    save_file({name: value + 1 for name, value in model().weights().items()}, path)
    return path


def test_without_a_base_the_model_is_unchanged() -> None:
    assert from_base("anything", None, ()) == ("anything", None)
    for patterns in ("bias", ("bias",)):
        with pytest.raises(ConfigError, match=r"base_except=\('bias',\) requires base="):
            from_base("anything", None, patterns)


def test_a_file_is_recorded_by_its_place_and_its_hash(weights: Path) -> None:
    for patterns, listed in (("bias", ["bias"]), (["b*"], ["b*"]), ((), [])):
        based, record = from_base(model(), str(weights), patterns)
        assert record == {"file": str(weights), "sha256": sha256(weights), "except": listed}
        assert not isinstance(based, str | Path)
        found = based.weights()
        np.testing.assert_array_equal(found["weight"], model().weights()["weight"] + 1)
        np.testing.assert_array_equal(found["bias"], model().weights()["bias"] + (not listed))


def test_a_run_is_recorded_by_its_id_and_the_step_of_its_checkpoint(digits: Dataset) -> None:
    folder = recorded(digits)
    for base in (folder.id, str(folder.path), Run(folder)):
        based, record = from_base(model(), base, ())
        assert record == {"run": folder.id, "step": 4, "except": []}
        assert not isinstance(based, str | Path)


def test_a_sample_as_base_is_its_base_checkpoint(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PREPARE, "base_samples", lambda: {"sketch": None})
    monkeypatch.setattr(PREPARE, "base_checkpoint", lambda name: weights)
    record = from_base(model(), "sketch", ())[1]
    assert record is not None
    assert record["file"] == str(weights)
    with pytest.raises(RunFolderError, match="No run 'other'"):
        from_base(model(), "other", ())


@pytest.mark.fault
@pytest.mark.parametrize("patterns", [3, None, ["a", 3], {"a"}, b"a"])
def test_patterns_are_names(weights: Path, patterns: Any) -> None:
    with pytest.raises(ConfigError, match=r"  - base_except=.*: give names or patterns\.$"):
        from_base(model(), weights, patterns)


def test_a_missing_run_lists_the_existing_ones(digits: Dataset) -> None:
    runs = home() / "runs"
    with pytest.raises(RunFolderError) as refused:
        load_run("nothing")
    assert str(refused.value) == f"No run 'nothing' in {runs}. There are no runs here yet."
    run = write_run("a", [], {"status": "completed"})
    with pytest.raises(RunFolderError) as refused:
        load_run(run.id[:-1])
    assert str(refused.value) == (f"No run {run.id[:-1]!r} in {runs}. Did you mean {run.id!r}?")
    others = [write_run(name, [], {"status": "completed"}).id for name in "bcd"]
    with pytest.raises(RunFolderError) as refused:
        load_run("no-such-run")
    newest = ", ".join(sorted([run.id, *others], reverse=True)[:3])
    assert str(refused.value) == f"No run 'no-such-run' in {runs}. The newest: {newest}."
    run.delete()
    with pytest.raises(RunFolderError) as refused:
        load_run(run.id)
    assert str(refused.value) == (
        f"No run {run.id!r} in {runs}. It was deleted; wb.undelete({run.id!r}) restores it."
    )
    with pytest.raises(RunFolderError, match=r"^3 is not a run: pass its id or the path of its "):
        load_run(3)  # type: ignore[arg-type]


def test_a_run_of_this_directory_comes_before_a_folder_of_its_name(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder.id).mkdir()
    assert load_run(folder.id).folder.path == folder.path
    for nothing in ("", "."):
        with pytest.raises(RunFolderError, match="No run"):
            load_run(nothing)
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="No run 'file'"):
        load_run("file")


def test_a_run_has_its_settings_as_they_were_recorded() -> None:
    run = write_run("a", [], {"status": "completed"}, learning_rate=0.25, epochs=4)
    assert isinstance(run.config, TrainingConfig)
    assert (run.config.learning_rate, run.progress, run.engine) == (0.25, (0, 12), "fake")
    assert (run.model, run.code, run.has_worker, run.watchdog_pid) == (None, None, False, None)
