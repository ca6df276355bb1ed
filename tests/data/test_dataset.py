"""A dataset survives saving, and nothing but a saved dataset is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.data import Dataset, Split, dataset, load_saved_dataset
from workbench.errors import DataError


@pytest.fixture
def pairs() -> Dataset:
    """Two inputs, a target and two classes."""
    inputs = [np.random.default_rng(0).random((6, 2), np.float32), np.arange(6).reshape(6, 1)]
    train = Split(inputs, np.array([0, 1] * 3))
    return Dataset("pairs", train, Split([a[:2] for a in inputs], train.target[:2]), ("a", "b"))


def equal(one: Split, other: Split) -> bool:
    arrays = zip((*one.inputs, one.target), (*other.inputs, other.target), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)


@pytest.mark.parametrize("map_from_bytes", [0, 1 << 30])
def test_a_saved_dataset_is_loaded(pairs, tmp_path, monkeypatch, map_from_bytes: int) -> None:
    monkeypatch.setattr(dataset, "MAP_FROM_BYTES", map_from_bytes)
    pairs.save(tmp_path / "data")
    loaded = load_saved_dataset(tmp_path / "data")
    assert (loaded.name, loaded.classes) == ("pairs", ("a", "b"))
    assert equal(loaded.train, pairs.train)
    assert loaded.test is not None
    assert equal(loaded.test, pairs.test)
    # Mapped arrays cannot be written; read ones can.
    assert loaded.train.target.flags.writeable == (map_from_bytes > 0)


def test_a_dataset_without_a_test_split(pairs, tmp_path) -> None:
    Dataset("train only", pairs.train).save(tmp_path / "data")
    loaded = load_saved_dataset(tmp_path / "data")
    assert loaded.test is None
    assert loaded.classes is None


def test_saving_leaves_nothing_half_written(pairs, tmp_path, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        pairs.save(tmp_path / "runs" / "data")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.fault
def test_a_folder_in_use_is_not_overwritten(pairs, tmp_path) -> None:
    pairs.save(tmp_path / "data")
    with pytest.raises(DataError, match="not empty"):
        pairs.save(tmp_path / "data")
    load_saved_dataset(tmp_path / "data")


@pytest.mark.fault
def test_pickled_arrays_are_never_read(pairs, tmp_path) -> None:
    pairs.save(tmp_path / "data")
    np.save(tmp_path / "data" / "train-target.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DataError, match="allow_pickle=False"):
        load_saved_dataset(tmp_path / "data")


@pytest.mark.fault
@pytest.mark.parametrize("name", ["data.json", "train-input-0.npy", "train-target.npy"])
def test_a_pipe_among_its_files_is_refused(pairs, tmp_path, name: str) -> None:
    """To open it would never come back."""
    pairs.save(tmp_path / "data")
    (tmp_path / "data" / name).unlink()
    os.mkfifo(tmp_path / "data" / name)
    with pytest.raises(DataError, match=f"{name} is"):
        load_saved_dataset(tmp_path / "data")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "newer workbench"),
        ({"format": None}, "not a readable"),
        ({"inputs": 3}, "train-input-2.npy is missing"),
        ({"inputs": "x"}, "not a readable"),
    ],
)
def test_a_corrupt_record_is_refused(pairs, tmp_path, change, message: str) -> None:
    pairs.save(tmp_path / "data")
    path = tmp_path / "data" / "data.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match=message):
        load_saved_dataset(tmp_path / "data")


@pytest.mark.fault
def test_a_folder_that_is_no_dataset_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="not a saved dataset"):
        load_saved_dataset(tmp_path)
    (tmp_path / "data.json").write_text("{")
    with pytest.raises(DataError, match="not a readable saved dataset"):
        load_saved_dataset(tmp_path)


def test_a_worker_loads_it_with_numpy_alone(pairs, tmp_path) -> None:
    pairs.save(tmp_path / "data")
    code = f"""
import sys
from pathlib import Path
from workbench.data import load_saved_dataset
from workbench.models import load_saved
next(load_saved_dataset(Path({str(tmp_path / "data")!r})).train.batches(2, 0, 1))
heavy = ("torch", "pandas", "sklearn", "onnx", "PIL", "onnxruntime", "sample_models")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_several_targets_are_saved(tmp_path: Path) -> None:
    rows = np.arange(6)
    targets = (rows, rows.astype(np.float32))
    saved = Dataset("two", Split([rows], targets), Split([rows[:2]], (rows[:2], rows[2:4])))
    saved.save(tmp_path / "two")
    loaded = load_saved_dataset(tmp_path / "two")
    for split, other in ((loaded.train, saved.train), (loaded.test, saved.test)):
        assert split is not None
        assert other is not None
        pairs = zip(split.targets, other.targets, strict=True)
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


def test_a_dataset_of_the_first_format_has_one_target(tmp_path: Path) -> None:
    rows = np.arange(6)
    Dataset("one", Split([rows], rows)).save(tmp_path / "one")
    path = tmp_path / "one" / "data.json"
    record = json.loads(path.read_text())
    del record["targets"]
    path.write_text(json.dumps({**record, "format": 1}))
    assert len(load_saved_dataset(tmp_path / "one").train.targets) == 1
