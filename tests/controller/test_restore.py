"""A form restored from the record of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.runs.engines.test_lora import write_model
from tests.runs.recorded import recorded
from workbench import load_dataset, load_model
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


def test_the_file_or_folder_of_the_dataset_is_chosen_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 1, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x=rows, kind=np.arange(20) % 10)
    for number in range(10):
        (tmp_path / "images" / f"{number}").mkdir(parents=True)
        for index in range(2):
            image = Image.new("L", (8, 8), 20 * number)
            image.save(tmp_path / "images" / f"{number}" / f"{index}.png")
    monkeypatch.chdir(tmp_path)
    for source, target in (("rows.npz", "kind"), ("images", "")):
        data = load_dataset(source, target or None)
        run = train("digits-mlp", data, engine="fake", steps=1, batch_size=8).wait(60)
        found = restored(load_run(run.id))
        assert (found.dataset, found.target) == (source, target)
        assert load_run(run.id).dataset.source == data.source
