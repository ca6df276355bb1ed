"""Ids, names and homes of every kind: one sentence where they cannot be, else no harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from tests.runs.recorded import recorded
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunFolderError, WorkbenchError
from workbench.run_folder.run_folder import RunFolder, folder_name, home
from workbench.runs.launch import write_run_folder

NAMES = ["a/b", "../../up", "..", "", "nul\0in", "[red]b[/red]", "two\nlines", "x" * 300, "é" * 300]


@pytest.mark.parametrize("run_id", [None, 3, b"x", ["a"], "", ".", *NAMES, "/proc", Path()])
def test_invalid_ids(digits: Dataset, workbench_home: Path, run_id: Any) -> None:
    recorded(digits)
    (workbench_home / "comparisons").mkdir()  # without it no name is too long to be looked for
    with pytest.raises(RunFolderError) as caught:
        wb.load_run(run_id)
    assert len(str(caught.value)) < 600
    with pytest.raises(RunFolderError):
        wb.load_comparison(run_id)


def test_a_run_is_found_by_its_id_and_by_its_folder(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    monkeypatch.chdir(folder.path.parent)
    for way in (folder.id, folder.path, str(folder.path), f"./{folder.id}", f"{folder.id}/"):
        assert wb.load_run(way).id == folder.id


@pytest.mark.parametrize("name", ["", "nul\0in", "two\nlines", "x" * 300, "é" * 300])
def test_a_models_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="name="):
        wb.load_model(torch.nn.Linear(64, 10), example_inputs=np.zeros((2, 64)), name=name)


@pytest.mark.parametrize("name", ["a/b", "../../up", "..", "[red]b[/red]", "x" * 200, "é" * 200])
def test_a_models_name_makes_a_plain_folder(digits: Dataset, name: str) -> None:
    model = wb.load_model(torch.nn.Linear(64, 10), example_inputs=np.zeros((2, 64)), name=name)
    config = wb.TrainingConfig(engine="fake", steps=1)
    folder = RunFolder.create(f"{folder_name(model.name)}-{config.engine}")
    write_run_folder(folder, model, digits, config)
    assert folder.read_spec()["detached"] is False
    assert folder.path.parent == home() / "runs"
    assert len(folder.id.encode()) < 160
    assert folder.id.endswith("-fake")
    run = wb.load_run(folder.id)
    assert run.spec["model"] == model.name
    assert run.plot()._repr_png_()  # type: ignore[attr-defined]
    assert folder_name(name) not in ("", ".", "..")


def test_an_empty_home_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", "")
    assert home() == Path.cwd() / ".workbench"


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/workbench", "/dev/null", "n" * 300])
def test_a_home_that_cannot_be(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / place))
    for work in (
        lambda: RunFolder.create("x"),
        lambda: wb.train("digits-mlp", digits, engine="fake", steps=1),
        lambda: wb.compare("digits-mlp", digits, engines=["fake"], steps=1),
        lambda: wb.generate_artifacts(wb.load_model("digits-mlp")),
    ):
        with pytest.raises(WorkbenchError, match=r"cannot be (written|made)") as caught:
            work()
        assert "\n" not in str(caught.value)
    if place == "file":
        with pytest.raises(RunFolderError, match="cannot be read"):
            wb.runs()


def one(output: torch.Tensor) -> torch.Tensor:
    return output.sum()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"requires_grad": ["nope"]}, "pattern 'nope' matches no parameter"),
        ({"requires_grad": []}, "selects no parameter"),
        ({"loss": print}, "built-in or native function"),
        ({"loss": torch.nn.MSELoss}, "it is a class"),
        ({"loss": one}, "cannot be called with \\(output, target\\)"),
        ({"loss": [{"name": 5}]}, "int is not a function"),
    ],
)
def test_wrong_functions_and_patterns(digits: Dataset, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        wb.train("digits-mlp", digits, engine="fake", **settings)
    with pytest.raises(ConfigError, match=said):
        wb.generate_artifacts(wb.load_model("digits-mlp"), **settings)
    if "loss" not in settings:
        with pytest.raises(ConfigError, match=said):
            wb.verify("digits-mlp", digits, **settings)
    assert len(wb.runs()) == 0
