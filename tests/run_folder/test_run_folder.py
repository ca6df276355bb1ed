"""The run folder: found, refused when it is not one, never half-written."""

import json
from pathlib import Path

import pytest

from workbench.errors import RunFolderError
from workbench.run_folder.run_folder import FORMAT_VERSION, RunFolder, write_json


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
    with pytest.raises(RunFolderError, match="not a run folder"):
        RunFolder(tmp_path).read_spec()


@pytest.mark.fault
def test_json_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_ids_sort_by_time_and_never_collide(tmp_path: Path) -> None:
    folders = [RunFolder.create("x", tmp_path) for _ in range(20)]
    assert len({folder.id for folder in folders}) == 20
