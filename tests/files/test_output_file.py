"""Places that cannot be written are refused in a sentence, and what is there is kept."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from workbench.artifacts.generate import check_output_directory
from workbench.cli.printing.figure_file import check_plot, save_figure
from workbench.errors import ArtifactsError, ModelError, WorkbenchError
from workbench.files.output_file import check_place, replacing_file
from workbench.load import load_model

pytestmark = pytest.mark.fault

BAD_PLACES = {
    "": "is empty",
    "folder": "is a folder",
    "pipe": "is a device or a pipe",
    "full": "is a device or a pipe",
    "/dev/full": "is a device or a pipe",
    "/dev/null": "is a device or a pipe",
    "circle": "form a loop",
    "file/model.onnx": "Part of the path is a file",
    "file/a/b/model.onnx": "Part of the path is a file",
    "x" * 300: "name is too long",
    "a/" * 3000 + "x": "name is too long",
    "nul\0.onnx": "NUL",
}


@pytest.fixture
def places(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "circle").symlink_to("circle")
    return tmp_path


def refused(error: type[Exception], message: str, write: object, *arguments: object) -> None:
    with pytest.raises(error, match=message) as caught:
        write(*arguments)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", BAD_PLACES)
def test_a_model_is_not_exported_there(places: Path, name: str) -> None:
    before = sorted(path.name for path in places.iterdir())
    model = load_model("digits-mlp")
    refused(ModelError, BAD_PLACES[name], model.export, places / name if name else "")
    assert sorted(path.name for path in places.iterdir()) == before
    assert (places / "file").read_text() == "old"
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", BAD_PLACES)
def test_a_figure_is_not_written_there(places: Path, name: str) -> None:
    refused(WorkbenchError, BAD_PLACES[name], check_plot, str(places / name) if name else "")


@pytest.mark.parametrize("name", ["file", "pipe", "full", "circle", "file/a", "x" * 300, "nul\0"])
def test_artifacts_are_not_generated_there(places: Path, name: str) -> None:
    refused(ArtifactsError, ".", check_output_directory, places / name)
    assert (places / "file").read_text() == "old"


def test_a_file_size_limit_is_an_error_and_the_old_file_is_kept(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        with replacing_file(path, ModelError) as temporary:
            temporary.write_bytes(b"x" * 100_000)

    path = tmp_path / "model.onnx"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        refused(ModelError, "larger than this process may write", write, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    def half(path: Path) -> None:
        with replacing_file(path, ModelError) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("in the middle")

    (tmp_path / "a.onnx").write_text("old")
    refused(RuntimeError, "in the middle", half, tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_stays_one_and_missing_folders_are_made(tmp_path: Path) -> None:
    (tmp_path / "link.onnx").symlink_to("real.onnx")
    for name in ("link.onnx", "new/folder/model.onnx"):
        with replacing_file(tmp_path / name, ModelError) as temporary:
            temporary.write_text("new")
        assert (tmp_path / name).read_text() == "new"
    assert (tmp_path / "link.onnx").is_symlink()
    assert (tmp_path / "real.onnx").read_text() == "new"


def test_a_figure_without_a_suffix_is_png(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    save_figure(Figure(), str(tmp_path / "figure"))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_that_lacks_a_weight_is_not_exported(tmp_path: Path) -> None:
    model = load_model("digits-mlp")
    whole = model.weights()
    cases = {
        "lacks 1 parameters .* 'output.bias'": {
            n: v for n, v in whole.items() if n != "output.bias"
        },
        "'more' .* unknown name": {**whole, "more": np.zeros(2, np.float32)},
        r"'output.bias' of shape \[11\]": {**whole, "output.bias": np.zeros(11, np.float32)},
        "'output.bias' of dtype complex64": {**whole, "output.bias": np.zeros(10, np.complex64)},
    }
    for message, weights in cases.items():
        with pytest.raises(ModelError, match=message):
            model.export(tmp_path / "m.onnx", weights, complete=True)
    assert not (tmp_path / "m.onnx").exists()


def test_a_read_only_file_system_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root can mount one: what the system says of one is said of every folder here."""
    real = os.statvfs(tmp_path)
    flags = (*real[:8], real.f_flag | os.ST_RDONLY, real.f_namemax)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(flags))
    with pytest.raises(ModelError, match="read-only: make it writable, or choose another folder"):
        check_place(tmp_path / "model.onnx", ModelError)
