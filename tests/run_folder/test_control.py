"""The wishes of the watchers, as the worker sees them without asking the system."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.errors import RunFolderError
from workbench.run_folder.control import ControlReader, create_control, grant, want


def test_a_worker_may_step_until_something_stands_against_it(tmp_path: Path) -> None:
    path = tmp_path / "control.bin"
    create_control(path, granted_steps=2)
    reader = ControlReader(path)
    assert [reader.may_step(done) for done in (0, 1, 2)] == [True, True, False]
    grant(path, 5)
    assert reader.may_step(4)
    want(path, "pause")
    assert reader.read() == ("pause", 5)
    assert not reader.may_step(0)
    want(path, "run")
    assert reader.read() == ("run", 5)
    want(path, "stop")
    assert not reader.may_step(0)


def test_without_a_grant_there_is_no_limit(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    assert ControlReader(tmp_path / "c").may_step(10**15)


@pytest.mark.fault
def test_a_wish_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    with pytest.raises(ValueError, match="not in tuple"):
        want(tmp_path / "c", "halt")  # type: ignore[arg-type]


def link(path: Path) -> None:
    path.with_name("victim").write_bytes(b"sixteen bytes...")
    path.symlink_to("victim")


PLANTS = [link, os.mkfifo, Path.mkdir, lambda path: path.write_bytes(b"short")]


@pytest.mark.fault
@pytest.mark.parametrize("use", [ControlReader, lambda path: want(path, "stop")])
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_no_control_file_is_neither_written_nor_mapped(
    plant: Callable[[Path], None], use: Callable[[Path], object], tmp_path: Path
) -> None:
    plant(tmp_path / "c")
    with pytest.raises(RunFolderError, match="control file"):
        use(tmp_path / "c")
    victim = tmp_path / "victim"
    assert not victim.exists() or victim.read_bytes() == b"sixteen bytes..."


@pytest.mark.fault
def test_a_control_file_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="c is missing"):
        ControlReader(tmp_path / "c")
