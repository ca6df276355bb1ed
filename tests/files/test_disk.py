"""A disk that cannot be written is said in one sentence, whichever library finds it."""

from __future__ import annotations

import errno
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import ArtifactsError, RunFolderError, WorkbenchError
from workbench.files.disk import disk_errors, disk_problem
from workbench.run_folder.events import EventWriter

pytestmark = pytest.mark.fault

ARRAY = np.zeros(100_000, np.float32)


def save_text(path: Path) -> None:
    path.write_text("x" * 500_000)


def save_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, ARRAY)


def save_raw(path: Path) -> None:
    ARRAY.tofile(path)


def save_weights(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"w": ARRAY}, path)


def save_onnx(path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    graph = onnx.GraphProto(name="g", initializer=[numpy_helper.from_array(ARRAY, "w")])
    onnx.save(onnx.ModelProto(ir_version=8, graph=graph), path)


def save_events(path: Path) -> None:
    EventWriter(path).write("phase", text="x" * 500_000)


WRITERS = [save_text, save_array, save_raw, save_weights, save_onnx, save_events]


# Weights replace the device; events are written into regular files alone.
ONTO_DEVICES = [write for write in WRITERS if write not in (save_weights, save_events)]


@pytest.mark.parametrize("write", ONTO_DEVICES)
def test_a_full_disk_has_a_sentence(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "full"
    # A device that is always full.
    path.symlink_to("/dev/full")
    with (
        pytest.raises(WorkbenchError, match=r"full cannot be written\. The disk is full"),
        disk_errors(path),
    ):
        write(path)


def test_a_full_disk_in_safetensors_has_a_sentence() -> None:
    """It replaces the device that is always full, so this is what it says on a disk that is."""
    from safetensors import SafetensorError

    words = "Error while serializing: I/O error: No space left on device (os error 28)"
    assert disk_problem(SafetensorError(words)) == "The disk is full: free some space."


@pytest.fixture
def ten_kilobytes() -> Iterator[None]:
    """The largest file that this process may write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("ten_kilobytes")
@pytest.mark.parametrize("write", WRITERS)
def test_a_file_size_limit_has_a_sentence(write: Callable[[Path], None], tmp_path: Path) -> None:
    words = "file cannot be written. .*he file is larger than this process may write"
    with pytest.raises(WorkbenchError, match=words), disk_errors(tmp_path / "file"):
        write(tmp_path / "file")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not write"),
        (errno.EIO, "reports an error"),
    ],
)
def test_every_number_has_its_sentence(number: int, words: str) -> None:
    assert words in (disk_problem(OSError(number, "x")) or "")


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("disk"), RuntimeError("out of room")])
def test_other_errors_are_not_taken_for_the_disks(error: Exception, tmp_path: Path) -> None:
    assert disk_problem(error) is None
    with pytest.raises(type(error)), disk_errors(tmp_path):
        raise error


def test_a_path_that_is_no_folder_has_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(ArtifactsError, match="Part of the path is a file"),
        disk_errors(tmp_path, ArtifactsError),
    ):
        (tmp_path / "file" / "folder").mkdir()


def test_errors_of_the_workbench_pass_through(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"^mine$"), disk_errors(tmp_path, ArtifactsError):
        raise RunFolderError("mine")
