"""The load of other programs that a worker records, on a meter that says what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import psutil
import pytest

from workbench.machine.load import Load
from workbench.run_folder.events import EventReader, EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.worker.load_recorder import SHORTEST_S, WRITE_NS, LoadRecorder


def written(folder: RunFolder) -> list[dict[str, Any]]:
    return EventReader(folder.events_path).poll()


class Meter:
    """Measures a second of load, or what a test says."""

    def __init__(self, excluded_pids: Callable[[], Sequence[int]]) -> None:
        self.excluded = list(excluded_pids())
        self.calls: list[str] = []
        self.load: Load | None = Load(1.0, 0.5, 2)

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def take(self) -> Load | None:
        return self.load if "start" in self.calls else None


@pytest.fixture
def loads(events: EventWriter, monkeypatch: pytest.MonkeyPatch) -> tuple[LoadRecorder, Meter]:
    """A recorder that leaves out a warm-up of two steps, and its meter."""
    monkeypatch.setattr("workbench.worker.load_recorder.LoadMeter", Meter)
    recorder = LoadRecorder(events, warmup_steps=2, pids=[1, 2])
    meter = recorder._meter
    assert isinstance(meter, Meter)
    return recorder, meter


def test_the_load_is_that_after_the_warm_up_without_waits(
    folder: RunFolder, loads: tuple[LoadRecorder, Meter], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, meter = loads
    assert meter.excluded == [1, 2]
    recorder.start(0)
    recorder.step_ended(1)
    assert meter.calls == []
    recorder.step_ended(2)
    recorder.step_ended(3)
    assert meter.calls[-1:] == ["start"]
    assert written(folder) == [], "not after each step"
    recorder.stop(3)
    assert meter.calls[-1:] == ["stop"], "until it goes on"
    recorder.start(3)
    monkeypatch.setattr("workbench.worker.load_recorder.time.perf_counter_ns", lambda: 10**18)
    recorder.step_ended(4)
    assert meter.calls[-2:] == ["stop", "start"], "written after some seconds, and measured on"
    first, second = written(folder)
    assert (first["step"], second["step"]) == (3, 4)
    assert (first["wall_s"], first["other_s"], first["cores"]) == (1.0, 0.5, 2)
    assert WRITE_NS > 10**9


@pytest.mark.parametrize("load", [None, Load(SHORTEST_S / 2, 0.0, 2)], ids=["unknown", "short"])
def test_a_load_that_cannot_be_measured_is_left_out(
    folder: RunFolder, loads: tuple[LoadRecorder, Meter], load: Load | None
) -> None:
    recorder, meter = loads
    meter.load = load
    recorder.start(2)
    recorder.stop(3)
    assert written(folder) == []


def test_training_goes_on_where_the_system_does_not_tell_the_load(
    folder: RunFolder, loads: tuple[LoadRecorder, Meter], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Meter) -> None:
        raise psutil.AccessDenied

    recorder, _ = loads
    monkeypatch.setattr(Meter, "start", refused)
    monkeypatch.setattr(Meter, "stop", refused)
    recorder.start(2)
    recorder.step_ended(3)
    recorder.stop(3)
    assert written(folder) == []
