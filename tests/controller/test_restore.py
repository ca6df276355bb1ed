"""A form restored from the record of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.engines.test_lora import write_model
from tests.runs.recorded import recorded
from workbench import load_model
from workbench.controller.restore import restored
from workbench.data import Dataset
from workbench.models.saved import load_saved
from workbench.runs import load_run, train


def test_kernels_chosen_by_tuning_are_in_the_settings(digits: Dataset) -> None:
    """Not in the field of `tuning`, which takes a word or a path."""
    folder = recorded(digits, "ondevice")
    spec = folder.read_spec()
    tuning = {"variant": "onnxruntime", "reason": "ONNX Runtime's kernels: 0.70; measured here"}
    spec["config"] |= {"tuning": tuning, "device_kernels": False}
    folder.write_spec(spec)
    run = load_run(folder.id)
    assert restored(run).settings["device_kernels"] is False
    assert "tuning" not in restored(run).settings
    spec["config"]["tuning"] = "off"
    folder.write_spec(spec)
    assert restored(load_run(folder.id)).settings["tuning"] == "off"


def test_the_onnx_file_is_chosen_again_and_no_file_of_code(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_model(tmp_path / "mlp.onnx")
    run = train(load_model(file), digits, engine="fake", steps=1).wait(60)
    assert restored(load_run(run.id)).model == str(file)
    monkeypatch.chdir(tmp_path)
    assert restored(load_run(run.id)).model == "mlp.onnx"
    # A run of the copy in a run folder names no file.
    assert load_saved(run.folder.model_path).file is None
    file.rename(tmp_path / "mlp.py")
    assert restored(load_run(run.id)).model == ""
    run.folder.write_spec({**run.folder.read_spec(), "model_file": str(tmp_path / "mlp.py")})
    assert restored(load_run(run.id)).model == ""
