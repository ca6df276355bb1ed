"""The smallest parts of a record at their edges: control file, events, names and JSON."""

from __future__ import annotations

import json
import os
import struct
import time
from pathlib import Path

import psutil
import pytest

from workbench.errors import RunFolderError
from workbench.files.json_file import write_json
from workbench.run_folder.control import (
    ControlReader,
    create_control,
    grant,
    request_save,
    request_state,
)
from workbench.run_folder.events import EventReader, EventWriter
from workbench.run_folder.run_folder import FORMAT_VERSION, RunFolder, home, time_stamp
from workbench.settings.config import TrainingConfig


def test_the_control_file_is_three_native_integers(tmp_path: Path) -> None:
    path = tmp_path / "c"
    create_control(path, granted_steps=7)
    assert path.read_bytes() == struct.pack("@qqq", 0, 7, 0)
    for state, number in (("pause", 1), ("stop", 2), ("run", 0)):
        request_state(path, state)  # type: ignore[arg-type]
        assert path.read_bytes() == struct.pack("@qqq", number, 7, 0)
    grant(path, 9)
    assert path.read_bytes() == struct.pack("@qqq", 0, 9, 0)
    assert [request_save(path), request_save(path)] == [1, 2]
    assert path.read_bytes() == struct.pack("@qqq", 0, 9, 2)
    assert ControlReader(path).requested_saves() == 2
    create_control(path, granted_steps=None)
    assert path.read_bytes() == struct.pack("@qqq", 0, 2**63 - 1, 0)


def test_a_reader_sees_each_command(tmp_path: Path) -> None:
    path = tmp_path / "c"
    create_control(path, granted_steps=1)
    reader = ControlReader(path)
    assert reader.read() == ("run", 1)
    assert [reader.may_step(done) for done in (0, 1)] == [True, False]
    for state in ("pause", "stop"):
        request_state(path, state)  # type: ignore[arg-type]
        assert reader.read() == (state, 1)
        assert not reader.may_step(0)


def test_steering_and_recording_leave_no_file_open(tmp_path: Path) -> None:
    create_control(tmp_path / "c", granted_steps=None)
    before = psutil.Process().num_fds()
    for step in range(20):
        request_state(tmp_path / "c", "pause")
        grant(tmp_path / "c", step)
        writer = EventWriter(tmp_path / "e")
        writer.write("phase", text="x")
        writer.close()
        EventReader(tmp_path / "e").poll()
    assert psutil.Process().num_fds() == before


def test_an_event_is_a_line_with_its_time(tmp_path: Path) -> None:
    before = time.time()
    for writer in (EventWriter(tmp_path / "e"), EventWriter(tmp_path / "e")):
        writer.write("phase", text="a\nb")
        with pytest.raises(ValueError, match="Out of range"):
            writer.write("phase", value=float("nan"))
        writer.close()
    lines = (tmp_path / "e").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2, "a second writer appends"
    for line in lines:
        assert line.endswith(b"\n")
        event = json.loads(line)
        assert list(event) == ["event", "time", "text"]
        assert before <= event["time"] <= time.time()
    assert os.stat(tmp_path / "e").st_mode & 0o777 == 0o644 & ~_umask()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def test_only_objects_that_name_their_kind_are_events(tmp_path: Path) -> None:
    lines = ['["event"]', '"event"', "{}", '{"kind": "event"}', "7", '{"event": "a"}', "{"]
    (tmp_path / "e").write_text("\n".join(lines) + "\n")
    assert EventReader(tmp_path / "e").poll() == [{"event": "a"}]


def test_a_first_line_that_is_torn_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "e"
    reader = EventReader(path)
    path.write_bytes(b'{"event": "a"')
    assert reader.poll() == []
    with path.open("ab") as file:
        file.write(b"}")
    assert reader.poll() == []
    with path.open("ab") as file:
        file.write(b"\n")
    assert reader.poll() == [{"event": "a"}]


def test_a_run_is_named_by_its_time_and_label(tmp_path: Path) -> None:
    before = time.time()
    folder = RunFolder.create("label", tmp_path / "deep" / "runs")
    day, clock, rest, label = folder.id.split("-")
    assert label == "label"
    assert folder.path == tmp_path / "deep" / "runs" / folder.id
    begun = time.mktime(time.strptime(day + clock, "%Y%m%d%H%M%S")) + int(rest[:3]) / 1000
    assert before - 0.002 <= begun <= time.time()
    assert len(rest) == 5
    assert folder.path.is_dir()
    assert len(time_stamp()) == len("20260101-000000-00000")


def test_names_made_one_after_the_other_sort_so() -> None:
    names = []
    for _ in range(5):
        names.append(time_stamp())
        time.sleep(0.0001)
    assert names == sorted(names)


def test_runs_live_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert RunFolder.create("x").path.parent == home() / "runs"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_HOME", "relative")
    assert home() == tmp_path / "relative"
    monkeypatch.delenv("WORKBENCH_HOME")
    assert home() == tmp_path / ".workbench"
    assert RunFolder(Path("here")).path == tmp_path / "here"


def test_every_path_is_in_the_run_folder_under_its_name(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    paths = {
        "spec.json": folder.spec_path,
        "model": folder.model_path,
        "data": folder.data_path,
        "artifacts": folder.artifacts_path,
        "control.bin": folder.control_path,
        "events.jsonl": folder.events_path,
        "checkpoints": folder.checkpoints_path,
        "worker.log": folder.log_path,
        "worker.lock": folder.lock_path,
        "summary.json": folder.summary_path,
    }
    assert all(path == folder.path / name for name, path in paths.items())
    assert folder.checkpoint_path(12) == folder.path / "checkpoints" / "step-00000012"
    assert folder.id == "run"


def test_spec_and_summary_come_back(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.read_summary() is None
    spec = {"config": TrainingConfig().model_dump(), "model": "m", "dataset": "d", "samples": 3}
    folder.write_spec(spec)
    assert folder.read_spec() == json.loads(json.dumps({"format": FORMAT_VERSION, **spec}))
    folder.write_summary({"status": "completed"})
    assert folder.read_summary() == {"status": "completed"}
    folder.summary_path.write_text("{")
    with pytest.raises(RunFolderError, match=r"summary\.json"):
        folder.read_summary()
    write_json(folder.spec_path, {"format": FORMAT_VERSION + 1})
    with pytest.raises(RunFolderError, match=rf"format {FORMAT_VERSION + 1}; .*{FORMAT_VERSION}\)"):
        folder.read_spec()


def test_checkpoints_are_in_the_order_of_their_steps_and_can_be_removed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.checkpoints() == []
    for step in (1000, 20, 3):
        folder.checkpoint_path(step).mkdir(parents=True)
        (folder.checkpoint_path(step) / "file").touch()
    ordered = [folder.checkpoint_path(step) for step in (3, 20, 1000)]
    assert folder.checkpoints() == ordered
    folder.remove_checkpoints(ordered[:2])
    assert folder.checkpoints() == ordered[2:]
