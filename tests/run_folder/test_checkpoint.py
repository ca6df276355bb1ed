"""A checkpoint is whole or absent, and never executes anything."""

import os
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import RunFolderError
from workbench.run_folder.checkpoint import WEIGHTS, all_finite, read_weights, write_checkpoint
from workbench.run_folder.training_progress import TrainingProgress


def test_weights_come_back_bit_for_bit(tmp_path: Path) -> None:
    weights = {
        "a.weight": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32).T,
        "count": np.array(7, dtype=np.int64),
        "half": np.arange(4, dtype=np.float16),
    }
    write_checkpoint(tmp_path / "step-1", weights)
    read = read_weights(tmp_path / "step-1")
    assert read.keys() == weights.keys()
    for name, value in weights.items():
        np.testing.assert_array_equal(read[name], value)
        assert read[name].shape == value.shape
        assert read[name].dtype == value.dtype


def test_a_failure_half_way_leaves_the_older_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "step-1"
    write_checkpoint(path, {"w": np.zeros(2)})

    def fail(folder: Path) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_checkpoint(path, {"w": np.ones(2)}, fail)
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-1"]
    np.testing.assert_array_equal(read_weights(path)["w"], np.zeros(2))


def test_it_is_on_the_disk_before_it_has_its_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    replace = os.replace

    def flushed(handle: int) -> None:
        done.append(Path(f"/proc/self/fd/{handle}").resolve().name)

    def renamed(source: Path, target: Path) -> None:
        done.append(f"rename to {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)

    def save_state(path: Path) -> None:
        (path / "state").touch()

    folder = tmp_path / "checkpoints"
    write_checkpoint(folder / "step-1", {"w": np.zeros(2)}, save_state)
    before = done.index("rename to step-1")
    assert sorted(done[:before]) == [".step-1", "state", WEIGHTS]
    assert done[before - 1] == ".step-1"
    assert done[before + 1 :] == ["checkpoints"]


@pytest.mark.fault
def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "checkpoints").symlink_to(outside)
    with pytest.raises(RunFolderError, match="checkpoints is a symbolic link"):
        write_checkpoint(tmp_path / "checkpoints" / "step-1", {"w": np.zeros(2)})
    assert not list(outside.iterdir())


@pytest.mark.fault
def test_a_missing_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds no checkpoint"):
        read_weights(tmp_path)


@pytest.mark.fault
def test_a_corrupt_checkpoint_is_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", {"w": np.zeros(100)})
    file = tmp_path / "c" / WEIGHTS
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(RunFolderError, match="corrupt"):
        read_weights(tmp_path / "c")


@pytest.mark.fault
def test_a_changed_bit_is_seen_although_the_file_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "step-00000001"
    weights = {"w": np.ones(8, np.float32)}
    write_checkpoint(path, weights, progress=TrainingProgress(step=1), engine="fake")
    assert list(read_weights(path)) == ["w"]
    file = path / "weights.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 0x40
    file.write_bytes(content)
    with pytest.raises(RunFolderError, match="is corrupt: its SHA-256 is not the recorded one"):
        read_weights(path)


def test_not_a_number_is_seen() -> None:
    assert all_finite({"w": np.ones(2), "n": np.array(1)})
    assert not all_finite({"w": np.array([1.0, np.nan])})
    assert not all_finite({"w": np.array([1.0, np.inf])})
