"""Events are read once each, whole lines only, whatever a crash left behind."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.errors import RunFolderError
from workbench.run_folder.events import EventReader, EventWriter, finite_or_none


def test_each_poll_gives_only_what_is_new(tmp_path: Path) -> None:
    writer, reader = EventWriter(tmp_path / "e"), EventReader(tmp_path / "e")
    assert reader.poll() == []
    writer.write("phase", text="one")
    assert [event["text"] for event in reader.poll()] == ["one"]
    writer.write("phase", text="two")
    writer.write("phase", text="three")
    assert [event["text"] for event in reader.poll()] == ["two", "three"]
    assert reader.poll() == []
    writer.close()


@pytest.mark.fault
def test_a_missing_file_has_no_events(tmp_path: Path) -> None:
    assert EventReader(tmp_path / "none").poll() == []


@pytest.mark.fault
def test_a_torn_last_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "e"
    reader = EventReader(path)
    path.write_bytes(b'{"event": "a"}\n{"event": "b", "te')
    assert [event["event"] for event in reader.poll()] == ["a"]
    with path.open("ab") as file:
        file.write(b'xt": "x"}\n')
    assert [event["event"] for event in reader.poll()] == ["b"]


def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(b'{"event": "a"}\n\x00\x00\x00\n[1]\n{"event": "b"}\n')
    assert [event["event"] for event in EventReader(path).poll()] == ["a", "b"]


def test_a_loss_that_is_no_number_is_null() -> None:
    assert finite_or_none([1.0, math.nan, math.inf]) == [1.0, None, None]


def test_a_full_disk_is_an_error_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = EventWriter(tmp_path / "e")
    full = os.open("/dev/full", os.O_WRONLY)
    write = os.write
    monkeypatch.setattr(os, "write", lambda _, content: write(full, content))
    with pytest.raises(OSError, match="No space left"):
        writer.write("phase", text="x")
    writer.close()
    os.close(full)


@pytest.mark.fault
@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("victim"), os.mkfifo])
def test_nothing_is_written_into_a_link_or_a_pipe(
    plant: Callable[[Path], None], tmp_path: Path
) -> None:
    plant(tmp_path / "e")
    with pytest.raises(RunFolderError, match="is no regular file"):
        EventWriter(tmp_path / "e")
    assert not (tmp_path / "victim").exists()
