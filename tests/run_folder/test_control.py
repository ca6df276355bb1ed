"""The control file: requests of clients, which a worker reads from mapped memory."""

import os
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from workbench.errors import RunFolderError
from workbench.run_folder.control import (
    ControlReader,
    Poll,
    create_control,
    grant,
    request_save,
    request_state,
    requested_state,
)


def test_a_worker_may_step_until_something_stands_against_it(tmp_path: Path) -> None:
    path = tmp_path / "control.bin"
    create_control(path, granted_steps=2)
    reader = ControlReader(path)
    assert [reader.may_step(done) for done in (0, 1, 2)] == [True, True, False]
    grant(path, 5)
    assert reader.may_step(4)
    request_state(path, "pause")
    assert reader.read() == ("pause", 5)
    assert not reader.may_step(0)
    request_state(path, "run")
    assert reader.read() == ("run", 5)
    request_state(path, "stop")
    assert not reader.may_step(0)
    assert requested_state(path) == "stop"


def test_without_a_grant_there_is_no_limit(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    assert ControlReader(tmp_path / "c").may_step(10**15)


def test_a_step_may_be_granted_while_a_run_is_paused(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=2)
    request_state(tmp_path / "c", "pause")
    reader = ControlReader(tmp_path / "c")
    assert [reader.granted(done) for done in (0, 1, 2)] == [True, True, False]
    assert not reader.may_step(1)


def test_a_run_of_an_older_version_can_be_stopped_but_not_asked_to_save(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(struct.pack("@qq", 0, 5))
    request_state(path, "stop")
    grant(path, 7)
    assert struct.unpack("@qq", path.read_bytes()) == (2, 7)
    for use in (request_save, ControlReader):
        with pytest.raises(RunFolderError, match="has 16 bytes"):
            use(path)
    assert len(path.read_bytes()) == 16


def test_a_removed_control_file_is_not_made_again(tmp_path: Path) -> None:
    request_state(tmp_path / "c", "stop")
    grant(tmp_path / "c", 3)
    assert not list(tmp_path.iterdir())


def test_requests_of_checkpoints_at_once_have_numbers_of_their_own(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(request_save, [tmp_path / "c"] * 4000))
    assert sorted(numbers) == list(range(1, 4001))
    assert ControlReader(tmp_path / "c").requested_saves() == 4000


def test_no_file_is_left_open(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    (tmp_path / "short").write_bytes(b"short")
    before = psutil.Process().num_fds()
    for _ in range(20):
        ControlReader(tmp_path / "c").read()
        with pytest.raises(RunFolderError, match=r"has 5 bytes; .* has 24"):
            ControlReader(tmp_path / "short")
        with pytest.raises(RunFolderError, match="has 5 bytes"):
            grant(tmp_path / "short", 1)
    assert psutil.Process().num_fds() == before


def test_who_waits_long_looks_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    poll = Poll()
    for _ in range(100):
        poll.sleep()
    assert 0 < slept[0] <= 0.01
    assert 0.02 <= slept[-1] <= 0.1
    for index, seconds in enumerate(slept):
        assert seconds == pytest.approx(min(slept[0] + sum(slept[:index]) / 10, slept[-1]))


@pytest.mark.fault
def test_an_unknown_command_is_refused(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    with pytest.raises(ValueError, match="not in tuple"):
        request_state(tmp_path / "c", "halt")  # type: ignore[arg-type]


def link(path: Path) -> None:
    path.with_name("victim").write_bytes(b"sixteen bytes...")
    path.symlink_to("victim")


PLANTS = [link, os.mkfifo, Path.mkdir, lambda path: path.write_bytes(b"short")]


@pytest.mark.fault
@pytest.mark.parametrize("use", [ControlReader, lambda path: request_state(path, "stop")])
@pytest.mark.parametrize("plant", PLANTS)
def test_other_files_are_neither_written_nor_mapped_as_control_files(
    plant: Callable[[Path], None], use: Callable[[Path], object], tmp_path: Path
) -> None:
    plant(tmp_path / "c")
    with pytest.raises(RunFolderError, match="control file") as caught:
        use(tmp_path / "c")
    assert "Errno" not in str(caught.value)
    victim = tmp_path / "victim"
    assert not victim.exists() or victim.read_bytes() == b"sixteen bytes..."


@pytest.mark.fault
def test_a_missing_control_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="c is missing"):
        ControlReader(tmp_path / "c")
    with pytest.raises(RunFolderError, match="c is missing: the run folder was removed"):
        request_save(tmp_path / "c")
