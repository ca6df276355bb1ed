"""Only one worker works at any moment, from its first step until its process is gone."""

from __future__ import annotations

import functools
import json
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.runs.test_run import until
from workbench.compare.lockstep import Lockstep, make_plan
from workbench.data import Dataset
from workbench.load import load_model
from workbench.machine.load import Load, LoadMeter
from workbench.run_folder.control import grant
from workbench.runs import Run, prepare
from workbench.runs.launch import launch

STEPS = 30
BATCH_SIZE = 128
"""Eleven steps an epoch: two epochs end within a comparison, one of them within a round."""
SLOW = {"step_ms": 3, "evaluate_ms": 15, "finish_ms": 120}


class Entry(NamedTuple):
    """An action of a worker and when it happened, in seconds since the epoch."""

    began: float
    ended: float
    worker: str
    what: str


class Workers:
    """Starts fake workers in lockstep, each of which keeps a event_log of all it does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, digits: Dataset, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._folder = folder
        self._model = load_model("digits-mlp")
        self._data = digits
        self.loads: list[Load | None] = []

    def lockstep(self, steps: int, **behaviours: dict[str, Any]) -> Lockstep:
        """Workers by name, each with what it does wrong, that have begun."""
        launchers = {
            name: functools.partial(self.launch, name, steps, behaviour)
            for name, behaviour in behaviours.items()
        }
        lockstep = Lockstep(make_plan(steps, 5), launchers, on_load=self.loads.append)
        lockstep.start()
        return lockstep

    def event_log(self) -> list[Entry]:
        """The actions of all workers, in order."""
        entries = []
        for path in self._folder.glob("*.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                entry = json.loads(line)
                entries.append(Entry(entry["began"], entry["ended"], path.stem, entry["what"]))
        return sorted(entries)

    def launch(self, name: str, steps: int, behaviour: dict[str, Any]) -> Run:
        kept = {**behaviour, "event_log": str(self._folder / f"{name}.jsonl")}
        self._monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(kept))
        settings = {"engine": "fake", "steps": steps, "batch_size": BATCH_SIZE}
        _, _, config = prepare(self._model, self._data, settings)
        started = launch(self._model, self._data, config, granted_steps=0)
        return Run(started.folder, worker=started.worker)


class TwoMeters:
    """The meter of a lockstep, and beside it one that knows of no worker."""

    def __init__(self, *own: Any) -> None:
        self._meters = LoadMeter(), LoadMeter(*own)
        self.found: list[tuple[Load, Load]] = []
        """Of each round: what every program took, and what other programs took."""

    @property
    def running(self) -> bool:
        return self._meters[1].running

    def start(self) -> None:
        for meter in self._meters:
            meter.start()

    def stop(self) -> None:
        for meter in reversed(self._meters):
            meter.stop()

    def take(self) -> Load | None:
        everything, others = (meter.take() for meter in self._meters)
        if everything is not None and others is not None:
            self.found.append((everything, others))
        return others


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, digits: Dataset, tmp_path: Path) -> Workers:
    return Workers(monkeypatch, digits, tmp_path)


def overlaps(event_log: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Neighbours in time of different workers, of which the second began before the first ended."""
    return [
        (first, second)
        for first, second in pairwise(event_log)
        if first.worker != second.worker and second.began < first.ended
    ]


def test_actions_of_workers_do_not_overlap(workers: Workers) -> None:
    lockstep = workers.lockstep(STEPS, one=SLOW, two=SLOW)
    lockstep.join(120)
    assert {run.status for run in lockstep.runs.values()} == {"completed"}
    assert lockstep.phase == "two: finishing", "the last that it did"
    event_log = workers.event_log()
    assert not overlaps(event_log)
    for name in ("one", "two"):
        done = [entry.what for entry in event_log if entry.worker == name]
        assert done.count("step") == STEPS
        # Three batches of the test split at the ends of two epochs and of the run.
        assert done.count("evaluate") == 9
        assert done[-3:] == ["weights", "statistics", "exit"]
        assert lockstep.runs[name].waits_after(STEPS)
    last_steps = {entry.worker: entry.ended for entry in event_log if entry.what == "step"}
    finishing = [entry for entry in event_log if entry.what in ("statistics", "exit")]
    assert len(finishing) == 4
    assert all(entry.began > max(last_steps.values()) for entry in finishing)


def test_a_worker_that_fails_has_its_turn_until_it_is_gone(workers: Workers) -> None:
    lockstep = workers.lockstep(STEPS, one={**SLOW, "raise_at": 12}, two=SLOW)
    lockstep.join(120)
    statuses = {name: run.status for name, run in lockstep.runs.items()}
    assert statuses == {"one": "failed", "two": "completed"}
    event_log = workers.event_log()
    assert not overlaps(event_log)
    assert [entry.what for entry in event_log if entry.worker == "one"][-1] == "exit"


def test_a_worker_killed_in_its_turn_does_not_block_the_others(workers: Workers) -> None:
    lockstep = workers.lockstep(STEPS, one={"signal_at": [12, "SIGKILL"]}, two={})
    lockstep.join(120)
    statuses = {name: run.status for name, run in lockstep.runs.items()}
    assert statuses == {"one": "failed", "two": "completed"}


@pytest.mark.sweep
def test_stopped_workers_end_one_after_another(workers: Workers) -> None:
    lockstep = workers.lockstep(100_000, one=SLOW, two=SLOW)
    until(lambda: len(workers.loads) > 0 or len(workers.event_log()) > 2 * STEPS)
    lockstep.stop()
    lockstep.join(60)
    assert {run.status for run in lockstep.runs.values()} == {"stopped"}
    assert not overlaps(workers.event_log())
    assert all(run.checkpoint is not None for run in lockstep.runs.values())


@pytest.mark.sweep
def test_a_pause_holds_the_finish_too(workers: Workers) -> None:
    lockstep = workers.lockstep(STEPS, one={"step_ms": 10}, two={"step_ms": 10})
    until(lambda: "two" in lockstep.runs and lockstep.runs["two"].progress.done_steps > 20)
    lockstep.pause()
    runs = lockstep.runs
    until(lambda: all(run.waits_after(run.progress.done_steps) for run in runs.values()))
    assert lockstep.alive
    lockstep.resume()
    lockstep.join(60)
    assert {run.status for run in runs.values()} == {"completed"}


def test_a_worker_that_waits_to_finish_can_be_stopped(workers: Workers) -> None:
    """It has taken every step: it completes, without an evaluation."""
    run = workers.launch("one", STEPS, {})
    grant(run.folder.control_path, STEPS)
    until(lambda: run.waits_after(STEPS))
    assert run.summary is None
    run.stop()
    assert run.wait(60).status == "completed"
    assert run.checkpoint is not None
    assert run.checkpoint.name == f"step-{STEPS:08d}"


@pytest.mark.sweep
def test_every_round_has_its_load(workers: Workers) -> None:
    lockstep = workers.lockstep(45, one={"step_ms": 5}, two={"step_ms": 5})
    lockstep.join(120)
    known = [load for load in workers.loads if load is not None]
    assert len(workers.loads) == 20
    assert len(known) == 20
    wall_s = sum(load.wall_s for load in known)
    event_log = workers.event_log()
    first = next(entry for entry in event_log if entry.what == "step")
    # Each took 45 steps, 5 of them before the first round; the rounds end before the workers do.
    assert wall_s > 80 * 0.005
    assert wall_s < max(entry.ended for entry in event_log) - first.began
    assert all(0 <= load.other_s <= (load.wall_s + 0.05) * load.cores for load in known)


@pytest.mark.sweep
@pytest.mark.usefixtures("real_children")  # a fork is no child of the watchdog
def test_cpu_time_of_workers_is_not_counted_as_other_programs(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both meters see what else the machine does, so that their difference is the workers'."""
    meters: list[TwoMeters] = []

    def make(*own: Any) -> TwoMeters:
        meters.append(TwoMeters(*own))
        return meters[-1]

    monkeypatch.setattr(import_module("workbench.compare.lockstep"), "LoadMeter", make)
    lockstep = workers.lockstep(45, one={"spin_ms": 20}, two={"spin_ms": 20})
    lockstep.join(120)
    assert lockstep.error is None
    [meter] = meters
    assert [others for _, others in meter.found] == workers.loads
    spun_s = 2 * 40 * 0.02
    found_s = sum(everything.other_s - others.other_s for everything, others in meter.found)
    assert found_s > 0.6 * spun_s, f"{found_s:.2f} of {spun_s:.2f} s"
