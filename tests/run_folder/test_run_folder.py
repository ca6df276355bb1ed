"""The run folder: found, refused when it is not one, never half-written."""

import json
from pathlib import Path

import pytest

from workbench.errors import RunFolderError
from workbench.files.json_file import write_json
from workbench.run_folder import run_folder
from workbench.run_folder.run_folder import FORMAT_VERSION, RunFolder, folder_name, is_id
from workbench.settings.config import TrainingConfig


@pytest.mark.fault
def test_a_folder_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps({"format": FORMAT_VERSION + 1}))
    with pytest.raises(RunFolderError, match="newer workbench"):
        RunFolder(tmp_path).read_spec()


@pytest.mark.fault
@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "x"}'])
def test_a_spec_that_is_no_spec_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "spec.json").write_text(content)
    with pytest.raises(RunFolderError):
        RunFolder(tmp_path).read_spec()


@pytest.mark.fault
def test_a_folder_without_spec_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"spec\.json is missing"):
        RunFolder(tmp_path).read_spec()


SPEC = {"config": TrainingConfig().model_dump(), "model": "m", "dataset": "d", "samples": 3}


def test_the_format_of_this_version_is_the_second_and_the_first_is_read(tmp_path: Path) -> None:
    """Run folders of older versions stay readable: who changes the number changes this too."""
    folder = RunFolder(tmp_path)
    folder.write_spec(SPEC)
    assert json.loads(folder.spec_path.read_text())["format"] == 2
    assert folder.read_spec()["samples"] == 3
    write_json(folder.spec_path, {"format": 1, **SPEC})
    assert folder.read_spec()["samples"] == 3


@pytest.mark.fault
def test_a_record_without_its_fields_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_spec({"model": "m"})
    with pytest.raises(RunFolderError, match=r"spec\.json is corrupt"):
        folder.read_spec()
    folder.write_summary({"status": 7})
    with pytest.raises(RunFolderError, match=r"summary\.json is corrupt"):
        folder.read_summary()


def test_a_name_that_another_process_took_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = iter("aab")
    monkeypatch.setattr(run_folder, "time_stamp", lambda: next(stamps))
    assert [RunFolder.create("x", tmp_path).id for _ in range(2)] == ["a-x", "b-x"]


@pytest.mark.fault
def test_a_folder_that_cannot_be_created_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="Set WORKBENCH_HOME to a"):
        RunFolder.create("x", tmp_path / "file" / "runs")
    monkeypatch.setattr(run_folder, "make_folder", lambda _: None)
    with pytest.raises(RunFolderError, match="missing"):
        RunFolder.create("x", tmp_path / "missing")


def test_a_label_is_cut_to_the_length_of_file_names(tmp_path: Path) -> None:
    assert RunFolder.create("x" * 200, tmp_path).id.endswith("-" + "x" * 120)
    assert folder_name("x" * 200) == "x" * 80
    assert folder_name("é" * 41, 81) == "é" * 40
    assert folder_name("../a b:c") == "a-b-c"
    assert folder_name(".") == "unnamed"


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a\0b"])
def test_an_id_is_the_name_of_one_folder(text: str) -> None:
    assert not is_id(text)
    assert is_id("20260101-000000-000ff-a.b")
    assert is_id("a\\b")


def test_checkpoints_are_folders_named_by_a_step(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for name in ("step-2", "step-10", "step-x", "step-", "step-1.5", f"step-{'9' * 19}", "other"):
        (folder.checkpoints_path / name).mkdir(parents=True)
    (folder.checkpoints_path / "step-3").touch()
    (folder.checkpoints_path / "step-4").symlink_to("step-2")
    assert [path.name for path in folder.checkpoints()] == ["step-2", "step-10"]


def test_ids_sort_by_time_and_never_collide(tmp_path: Path) -> None:
    folders = [RunFolder.create("x", tmp_path) for _ in range(20)]
    assert len({folder.id for folder in folders}) == 20
