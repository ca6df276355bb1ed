"""The turns that a lockstep gives, to runs without workers that log what they are granted."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.compare import lockstep as program
from workbench.compare.lockstep import PAUSING, QUIET_LIMIT_S, Lockstep, LockstepPlan, make_plan

Entry = tuple[str, Any]


class Log:
    """A log of events in order, with actions to take at some entries."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.actions: dict[Entry, Callable[[], None]] = {}

    def add(self, name: str, what: Any) -> None:
        self.entries.append((name, what))
        self.actions.pop((name, what), lambda: None)()

    def of(self, *names: str) -> list[Entry]:
        return [entry for entry in self.entries if entry[0] in names]


class FakeRun:
    """Is busy for two polls after each grant; gone after one beyond its `total`, or at a stop."""

    def __init__(self, name: str, log: Log, total: int) -> None:
        self.name, self.log, self.total = name, log, total
        self.folder = SimpleNamespace(control_path=Path(name))
        self.watchdog_pid = None
        self.has_worker = True
        self.busy_polls = 0
        self.granted = 0

    @property
    def ended(self) -> bool:
        return not self.has_worker

    def grant(self, steps: int) -> None:
        self.granted, self.busy_polls = steps, 2
        self.log.add(self.name, steps)

    def waits_after(self, steps: int) -> bool:
        assert steps == self.granted
        self.busy_polls -= 1
        if self.busy_polls == 0:
            self.log.add(self.name, "idle")
            self.has_worker = self.has_worker and steps <= self.total
        return self.busy_polls <= 0

    def stop(self) -> None:
        if self.has_worker:
            self.log.add(self.name, "stopped")
        self.has_worker = False


class FakeMeter:
    def __init__(self, log: Log) -> None:
        self._log = log
        self.running = False

    def start(self) -> None:
        self.running = True
        self._log.add("meter", "on")

    def stop(self) -> None:
        if self.running:
            self._log.add("meter", "off")
        self.running = False

    def take(self) -> None:
        return None


class Made:
    """A lockstep of fake runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = Log()
        self.runs: dict[str, FakeRun] = {}
        self.loads: list[object] = []
        monkeypatch.setattr(program, "LoadMeter", lambda pids: FakeMeter(self.log))
        monkeypatch.setattr(program, "grant", lambda path, steps: self.runs[path.name].grant(steps))
        monkeypatch.setattr(program, "wait_for_quiet", self.wait_for_quiet)
        self.quiet: list[float] = []

    def wait_for_quiet(
        self, quiet_s: float, limit_s: float, cancelled: Callable[[], bool], report: Any
    ) -> None:
        self.quiet += [quiet_s, limit_s]
        report("waiting")
        self.log.add("quiet", cancelled())

    def lockstep(self, plan: LockstepPlan, *names: str, **settings: Any) -> Lockstep:
        def start(name: str) -> FakeRun:
            self.log.add(name, "launched")
            self.runs[name] = FakeRun(name, self.log, plan.total)
            return self.runs[name]

        launchers: Any = {name: functools.partial(start, name) for name in names}
        return Lockstep(plan, launchers, on_load=self.loads.append, **settings)

    def ended(self, lockstep: Lockstep) -> list[Entry]:
        """The events until the end."""
        lockstep.start()
        lockstep.join(60)
        assert not lockstep.alive
        return self.log.entries


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def turns(granted: int, *names: str) -> list[Entry]:
    return [(name, what) for name in names for what in (granted, "idle")]


def test_all_turns_in_order(made: Made) -> None:
    """The first step is part of the launch; the last round is what is left of the steps."""
    entries = made.ended(made.lockstep(LockstepPlan(3, 4, 12), "a", "b"))
    assert entries == [
        ("quiet", False),
        ("a", "launched"), *turns(1, "a"),
        ("b", "launched"), *turns(1, "b"),
        *turns(3, "a", "b"),
        ("meter", "on"), *turns(7, "a", "b"), ("meter", "off"),
        ("meter", "on"), *turns(11, "a", "b"), ("meter", "off"),
        ("meter", "on"), *turns(12, "a", "b"), ("meter", "off"),
        *turns(13, "a", "b"),
    ]  # fmt: skip
    assert made.loads == [None, None, None]
    assert made.quiet == [0.0, QUIET_LIMIT_S]


@pytest.mark.parametrize("warmup", [0, 1])
def test_without_a_warm_up_the_first_step_is_not_measured(made: Made, warmup: int) -> None:
    entries = made.ended(made.lockstep(LockstepPlan(warmup, 2, 4), "a"))
    assert [what for name, what in entries if name == "a" and what != "idle"] == [
        "launched", 1, 3, 4, 5,
    ]  # fmt: skip
    assert len(made.loads) == 2


def test_a_plan_of_one_step_has_no_round(made: Made) -> None:
    made.ended(made.lockstep(make_plan(1, 5), "a"))
    assert [what for _, what in made.log.of("a")] == ["launched", 1, "idle", 2, "idle"]
    assert made.loads == []


def test_its_phase_is_what_it_does_besides_steps(made: Made) -> None:
    lockstep = made.lockstep(LockstepPlan(1, 2, 3), "a", "b", quiet_s=2.5)
    seen: list[str] = []
    for entry in (("quiet", False), ("a", "launched"), ("a", 3), ("a", 4), ("b", 4)):
        made.log.actions[entry] = lambda: seen.append(lockstep.phase)
    made.ended(lockstep)
    assert seen == ["waiting", "", "", "a: finishing", "b: finishing"]
    assert made.quiet == [2.5, 2.5 + QUIET_LIMIT_S]


def test_a_stop_ends_the_active_run_first_and_grants_nothing_more(made: Made) -> None:
    lockstep = made.lockstep(LockstepPlan(1, 2, 9), "a", "b")
    made.log.actions["b", 3] = lockstep.stop
    entries = made.ended(lockstep)
    assert entries[entries.index(("b", 3)) :] == [
        ("b", 3), ("b", "stopped"), ("meter", "off"), ("a", "stopped"),
    ]  # fmt: skip
    assert lockstep.error is None


def test_a_stop_before_an_engine_starts_leaves_it_out(made: Made) -> None:
    lockstep = made.lockstep(LockstepPlan(1, 2, 9), "a", "b")
    made.log.actions["a", "idle"] = lockstep.stop
    made.ended(lockstep)
    assert [what for _, what in made.log.of("a", "b")] == ["launched", 1, "idle", "stopped"]
    assert list(lockstep.runs) == ["a"]


def test_an_error_ends_all_and_is_kept(made: Made) -> None:
    lockstep = made.lockstep(LockstepPlan(1, 2, 9), "a", "b")
    error = RuntimeError("no space")

    def fail() -> None:
        raise error

    made.log.actions["b", "launched"] = fail
    made.ended(lockstep)
    assert lockstep.error is error
    assert made.log.entries[-1] == ("a", "stopped")


@pytest.mark.parametrize("granted", [1, 3, 6])
def test_a_run_whose_worker_is_gone_gets_no_turn(made: Made, granted: int) -> None:
    def go() -> None:
        made.runs["a"].has_worker = False

    lockstep = made.lockstep(LockstepPlan(1, 2, 5), "a", "b")
    made.log.actions["a", granted] = go
    made.ended(lockstep)
    assert made.log.of("a")[-1] == ("a", granted)
    numbers = [what for _, what in made.log.of("b") if isinstance(what, int)]
    assert numbers == [1, 3, 5, 6]


def test_a_pause_while_an_engine_starts_comes_after_its_first_step(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[str] = []

    class FakePoll:
        def sleep(self) -> None:
            if lockstep.paused:
                phases.append(lockstep.phase)
                if len(phases) > 5 and not made.runs["a"].busy_polls > 0:
                    made.log.add("pause", "over")
                    lockstep.resume()

    monkeypatch.setattr(program, "Poll", FakePoll)
    lockstep = made.lockstep(LockstepPlan(1, 2, 3), "a", "b")
    made.log.actions["a", 1] = lockstep.pause
    entries = made.ended(lockstep)
    assert entries[:6] == [
        ("quiet", False), ("a", "launched"), ("a", 1), ("a", "idle"), ("pause", "over"),
        ("b", "launched"),
    ]  # fmt: skip
    assert phases[0] == PAUSING
    assert set(phases[1:]) == {""}, "it has paused"


def test_after_a_pause_before_the_first_engine_it_waits_for_quiet_again(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakePoll:
        def sleep(self) -> None:
            lockstep.resume()

    monkeypatch.setattr(program, "Poll", FakePoll)
    lockstep = made.lockstep(LockstepPlan(1, 2, 3), "a", quiet_s=2.5)
    made.log.actions["quiet", False] = lockstep.pause
    entries = made.ended(lockstep)
    assert entries[:3] == [("quiet", False), ("quiet", False), ("a", "launched")]


def test_a_stop_ends_a_pause(made: Made) -> None:
    lockstep = made.lockstep(LockstepPlan(1, 2, 9), "a", "b")

    def pause_and_stop() -> None:
        lockstep.pause()
        lockstep.stop()

    made.log.actions["b", 3] = pause_and_stop
    made.ended(lockstep)
    assert not lockstep.paused
    assert lockstep.phase != PAUSING
    assert made.log.entries[-1] == ("a", "stopped")


def test_a_pause_holds_the_next_turn_and_is_not_measured(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a round the meter is off for as long; between rounds it stays off."""
    polls: list[int] = []

    class FakePoll:
        def sleep(self) -> None:
            polls.append(len(made.log.entries))
            if lockstep.paused and len(polls) > 20:
                made.log.add("pause", "over")
                lockstep.resume()

    monkeypatch.setattr(program, "Poll", FakePoll)
    lockstep = made.lockstep(LockstepPlan(1, 2, 3), "a", "b")
    assert not lockstep.paused
    made.log.actions["a", 3] = lockstep.pause
    entries = made.ended(lockstep)
    place = entries.index(("meter", "on"))
    assert entries[place : place + 9] == [
        ("meter", "on"), *turns(3, "a"), ("meter", "off"), ("pause", "over"),
        ("meter", "on"), *turns(3, "b"), ("meter", "off"),
    ]  # fmt: skip
    assert entries[place + 9 :] == turns(4, "a", "b")


def test_a_pause_before_the_finish_can_be_stopped(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = threading.Event()

    class FakePoll:
        def sleep(self) -> None:
            if lockstep.paused:
                waited.set()
                lockstep.stop()

    monkeypatch.setattr(program, "Poll", FakePoll)
    lockstep = made.lockstep(LockstepPlan(1, 2, 3), "a")
    made.log.actions["a", 3] = lockstep.pause
    entries = made.ended(lockstep)
    assert waited.is_set()
    assert entries[-3:] == [("a", "idle"), ("meter", "off"), ("a", "stopped")]
    assert [entry for entry in entries if entry == ("meter", "on")] == [("meter", "on")]
