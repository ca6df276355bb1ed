"""Events are read once each, whole lines only, whatever a crash left behind."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.errors import RunFolderError
from workbench.run_folder import events
from workbench.run_folder.events import EventReader, EventWriter, parse_event


def test_each_poll_returns_new_events_only(tmp_path: Path) -> None:
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
def test_a_file_that_goes_before_it_is_opened_has_no_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_file", lambda _: True)
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


@pytest.mark.fault
@pytest.mark.parametrize("left", [0, 7])
def test_what_follows_in_a_file_that_was_cut_is_read(tmp_path: Path, left: int) -> None:
    path = tmp_path / "e"
    writer, reader = EventWriter(path), EventReader(path)
    for text in ("one", "two"):
        writer.write("phase", text=text)
    assert len(reader.poll()) == 2
    os.truncate(path, left)
    assert reader.poll() == []
    writer.write("phase", text="three")
    assert [event["text"] for event in reader.poll()] == ["three"]
    writer.close()


@pytest.mark.fault
def test_a_line_that_is_too_long_for_memory_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_LINE_BYTES", 32)
    path = tmp_path / "e"
    path.write_bytes(b'{"event": "a"}\n' + b"\0" * 200)
    reader = EventReader(path)
    assert [event["event"] for event in reader.poll()] == ["a"]
    with path.open("ab") as file:
        file.write(b'\n{"event": "b"}\n{"event": "c"}\n')
    assert [event["event"] for event in reader.poll()] == ["b", "c"]
    assert reader.skipped == 1
    assert [event["event"] for event in EventReader(path).poll()] == ["a", "b", "c"]


@pytest.mark.fault
def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "e").write_bytes(b'{"event": "phase", "time": 1, "text": "a\\ud83d"}\n')
    assert [event["text"] for event in EventReader(tmp_path / "e").poll()] == ["a?"]


def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(b'{"event": "a"}\n\x00\x00\x00\n[1]\n{"event": "b"}\n')
    reader = EventReader(path)
    assert reader.skipped == 0
    assert [event["event"] for event in reader.poll()] == ["a", "b"]
    assert reader.skipped == 2
    with path.open("ab") as file:
        file.write(b"{\n")
    assert reader.poll() == []
    assert reader.skipped == 3


STEPS = {
    "event": "steps",
    "time": 1.5,
    "first_step": 1,
    "losses": [0.5, None],
    "nanoseconds": [1, 2],
    "batch_size": 1,
    "steps_per_epoch": 1,
    "rss_bytes": 0,
}
EVENTS: list[dict[str, Any]] = [
    STEPS,
    {"event": "started", "time": 1, "pid": 1, "engine": "pytorch"},
    {"event": "phase", "time": -1, "text": ""},
    {"event": "built", "time": 1, "rss_before_bytes": 0},
    {"event": "evaluation", "time": 1, "step": 0, "epoch": 1, "loss": -0.5, "accuracy": None},
    {"event": "layers", "time": 1, "names": ["a", ""]},
    {
        "event": "layer_statistics",
        "time": 1,
        "step": 1,
        "gradient_norms": [0, 0.5],
        "update_ratios": [None, 1e300],
    },
    {"event": "checkpoint", "time": 1, "step": 0},
    {"event": "waiting", "time": 1, "step": 0},
    {"event": "paused", "time": 1},
    {"event": "resumed", "time": 1},
]


def parsed(event: dict[str, Any]) -> dict[str, Any] | None:
    """The event as it is read, with lists for arrays."""
    read = parse_event(json.dumps(event).encode())
    if read is None:
        return None
    return {
        name: [None if math.isnan(each) else each for each in value.tolist()]
        if isinstance(value, np.ndarray)
        else value
        for name, value in read.items()
    }


def test_the_lists_of_steps_are_read_as_arrays() -> None:
    read = parse_event(json.dumps(STEPS).encode())
    assert read is not None
    np.testing.assert_array_equal(read["losses"], np.array([0.5, np.nan]), strict=True)
    np.testing.assert_array_equal(read["nanoseconds"], np.array([1, 2]), strict=True)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["event"])
def test_an_event_holds_all_of_its_fields(event: dict[str, Any]) -> None:
    assert parsed(event) == event
    for name in event:
        assert parsed({key: event[key] for key in event if key != name}) is None, name
    assert parsed({**event, "new": "of a later version"}) is not None


@pytest.mark.parametrize(
    ("name", "held", "refused"),
    [
        ("first_step", [1, 2**53 - 1], [0, 2**53, True, 1.0, None]),
        ("rss_bytes", [0, 2**53 - 1], [-1, 2**53, True, 0.0, "0"]),
        (
            "time",
            [0, 0.5, -(2**53 - 1), 1e300],
            [2**53, -(2**53), True, math.inf, math.nan, "1", None],
        ),
        (
            "losses",
            [[-1, None], [1e300, 0.5]],
            [[], {}, [1.0], [1.0, math.inf], [1.0, True], [1.0, "1"]],
        ),
        ("nanoseconds", [[1, 2**53 - 1]], [[0, 1], [1], [1, 2.0], {}, [1, 2**53]]),
    ],
)
def test_numbers_are_held_to_their_limits(name: str, held: list[Any], refused: list[Any]) -> None:
    for value in held:
        assert parsed({**STEPS, name: value}) is not None, value
    for value in refused:
        assert parsed({**STEPS, name: value}) is None, value


@pytest.mark.parametrize(
    ("kind", "name", "refused"),
    [
        ("layers", "names", [None, "a", {}, [1], [None]]),
        ("layer_statistics", "gradient_norms", [None, 1, {}, ["1"], [math.inf], [True, {}]]),
        ("layer_statistics", "update_ratios", [None, 1, {}, ["1"], [math.nan]]),
        ("layer_statistics", "step", [0, -1, 1.0, None]),
    ],
)
def test_statistics_of_layers_are_lists_of_their_kind(
    kind: str, name: str, refused: list[Any]
) -> None:
    event = next(event for event in EVENTS if event["event"] == kind)
    for value in refused:
        assert parsed({**event, name: value}) is None, value


EVALUATION = next(event for event in EVENTS if event["event"] == "evaluation")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "held", "refused"),
    [
        *(
            (name, [0, -0.5, None], ["x", [1.0], {}, math.nan])
            for name in ("perplexity", "r2", "mean_absolute_error")
        ),
        ("confusion", [[], [[1, 0], [2, 3]]], [None, 1, "x", [1], [[1, 2]], [[-1]], [[0.5]]]),
    ],
)
def test_a_metric_is_absent_or_valid(name: str, held: list[Any], refused: list[Any]) -> None:
    for value in held:
        assert parsed({**EVALUATION, name: value}) is not None, value
    for value in refused:
        assert parsed({**EVALUATION, name: value}) is None, value


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
    with pytest.raises(RunFolderError, match="is not a regular file"):
        EventWriter(tmp_path / "e")
    assert not (tmp_path / "victim").exists()
