"""The state of a run after each event, and how long one waits for it, by a clock that is given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.runs.written import LAUNCHED, append, steps, write_run
from workbench.errors import ConfigError, RunError
from workbench.run_folder.checkpoint import write_checkpoint
from workbench.run_folder.control import ControlReader, create_control
from workbench.runs import Run, deadline, waiting
from workbench.runs.deadline import Deadline
from workbench.runs.record.activity import ENDED, Activity
from workbench.runs.waiting import request_checkpoint


class Clock:
    """Advances by what is slept."""

    def __init__(self) -> None:
        self.now_s = 50.0
        self.slept: list[float] = []
        self.then: Any = None

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds
        if self.then is not None:
            self.then(len(self.slept))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (deadline, waiting):
        monkeypatch.setattr(module, "time", made)
    return made


def state(activity: Activity) -> tuple[object, ...]:
    return (
        *(activity.state, activity.phase, activity.done_steps, activity.waits_after_step),
        *(activity.answered_saves, activity.save_refused_step, activity.first_step_time),
    )


def test_each_event_changes_the_state(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.touch()
    activity = Activity(path)
    assert state(activity.now()) == ("starting", "starting the worker", 0, -1, 0, None, None)

    def after(**event: Any) -> tuple[object, ...]:
        append(path, [{"time": LAUNCHED, **event}])
        return state(activity.now())

    exporting = ("starting", "exporting", 0, -1, 0, None, None)
    assert after(event="phase", text="exporting") == exporting
    running = ("running", *exporting[1:])
    assert after(event="built", rss_before_bytes=1) == running
    first = (*running[:2], 2, *running[3:6], LAUNCHED + 3)
    assert after(**steps(1, [1.0, 1.0], time=LAUNCHED + 3)) == first
    more = (*first[:2], 5, *first[3:])
    assert after(**steps(3, [1.0] * 3, time=LAUNCHED + 9)) == more
    assert after(event="waiting", step=5) == (*more[:3], 5, *more[4:])
    assert after(event="paused")[0] == "paused"
    assert after(event="resumed")[0] == "running"
    assert after(event="saved", step=5, request=2)[4:6] == (2, None)
    assert after(event="saved", step=6, request=3, finite=False)[4:6] == (3, 6)
    assert after(event="saved", step=7, request=4, finite=True)[4:6] == (4, None)
    assert after(event="saved", step=8, request=5, finite=False)[4:6] == (5, 8)
    assert after(event="restored", step=4)[2] == 4
    resuming = after(event="resuming", step=3)
    assert resuming == ("starting", "starting the worker", 3, -1, 0, 8, None)
    assert after(**steps(4, [1.0], time=LAUNCHED + 20))[6] == LAUNCHED + 20
    before = state(activity)
    assert after(event="unheard", step=9) == before
    assert activity.skipped_events == 0
    with path.open("a") as file:
        file.write("nothing\n[]\n")
    assert activity.now().skipped_events == 2


def test_these_are_the_ends_of_a_run() -> None:
    assert {"completed", "stopped", "interrupted", "failed", "unreadable"} == ENDED


def test_a_deadline_has_passed_after_its_last_moment(clock: Clock) -> None:
    end = Deadline(2)
    for after_s, passed in ((0, False), (1.5, False), (2, False), (2.001, True), (9, True)):
        clock.now_s = 50 + after_s
        assert end.passed is passed, after_s
    now, never = Deadline(0), Deadline(None)
    assert (now.passed, never.passed) == (False, False)
    clock.now_s = 1e9
    assert (now.passed, never.passed) == (True, False)


@pytest.mark.parametrize("timeout", [-1e-9, float("nan"), "3", True, False, [3]])
def test_invalid_times_are_refused(timeout: Any) -> None:
    with pytest.raises(ConfigError, match="a number of seconds, 0 or more, or None") as refused:
        Deadline(timeout)
    assert str(refused.value).count("timeout=") == 1


def test_an_end_is_looked_for_every_fiftieth_of_a_second(clock: Clock) -> None:
    run = write_run("a", [steps(1, [1.0])])

    def end(slept: int) -> None:
        if slept == 3:
            run.folder.write_summary({"status": "stopped", "error": None})

    clock.then = end
    assert run.wait(10) is run
    assert clock.slept == [0.05] * 3
    clock.slept.clear()
    assert run.wait(0) is run
    assert clock.slept == []


def test_a_wait_that_was_too_long_says_how_long(clock: Clock) -> None:
    run = write_run("a", [])
    with pytest.raises(TimeoutError, match=f"^Run {run.id} is still running after 0.12 s.$"):
        run.wait(0.12)
    assert clock.slept == [0.05] * 3


def test_progress_is_shown_while_one_waits(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[object, ...]] = []

    class Bar:
        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            shown.append(("closed",))

        def show(self, *given: object) -> None:
            shown.append(given)

    monkeypatch.setattr(waiting, "ProgressBar", Bar)
    phase = {"event": "phase", "text": "exporting"}
    run = write_run("a", [phase, steps(1, [1.0])], steps=9)
    clock.then = lambda _: run.folder.write_summary({"status": "completed", "error": None})
    run.wait()
    assert shown == [(1, 9, "fake: exporting"), ("closed",)]


@pytest.fixture
def under_way() -> Run:
    run = write_run("a", [])
    create_control(run.folder.control_path, granted_steps=None)
    return run


def saved(request: int, **fields: Any) -> dict[str, Any]:
    return {"event": "saved", "step": 3, "request": request, **fields}


def test_a_checkpoint_is_waited_for_until_that_request_is_answered(
    clock: Clock, under_way: Run
) -> None:
    write_checkpoint(under_way.folder.checkpoint_path(3), {"w": np.ones(2)})

    def answer(slept: int) -> None:
        if slept in (2, 4):
            append(under_way.folder.events_path, [saved(slept // 2)])

    clock.then = answer
    assert under_way.save() == under_way.folder.checkpoint_path(3)
    assert clock.slept == [0.05] * 2
    assert under_way.save(60) == under_way.folder.checkpoint_path(3)
    assert clock.slept == [0.05] * 4


def test_a_checkpoint_that_does_not_come_in_time(clock: Clock, under_way: Run) -> None:
    with pytest.raises(TimeoutError, match=f"^Run {under_way.id} has not saved within 0.07 s.$"):
        under_way.save(0.07)
    assert clock.slept == [0.05] * 2


@pytest.mark.parametrize("status", ["stopped", "completed", "failed"])
def test_a_run_that_ends_before_it_saves_is_an_error_if_it_failed(
    clock: Clock, under_way: Run, status: str
) -> None:
    error = {"type": "E", "message": "It broke.", "traceback": ""} if status == "failed" else None
    clock.then = lambda _: under_way.folder.write_summary({"status": status, "error": error})
    if error is None:
        with pytest.raises(RunError, match=f"has written no checkpoint: {status}$"):
            under_way.save(60)
    else:
        with pytest.raises(RunError, match=r"failed before it was saved: It broke.$"):
            under_way.save(60)
    assert clock.slept == [0.05]


def test_a_run_that_has_ended_is_asked_for_nothing(clock: Clock, under_way: Run) -> None:
    under_way.folder.write_summary({"status": "stopped", "error": None})
    before = under_way.folder.control_path.read_bytes()
    request_checkpoint(under_way, Activity(under_way.folder.events_path), None)
    assert under_way.folder.control_path.read_bytes() == before
    assert clock.slept == []


def test_a_refusal_is_of_the_last_request(clock: Clock, under_way: Run) -> None:
    events = under_way.folder.events_path
    clock.then = lambda _: append(events, [saved(1, finite=False)])
    with pytest.raises(RunError, match="at step 3 a weight is not finite"):
        under_way.save()
    write_checkpoint(under_way.folder.checkpoint_path(3), {"w": np.ones(2)})
    clock.then = lambda _: append(events, [saved(2)])
    assert under_way.save() == under_way.folder.checkpoint_path(3)


class Worker(SimpleNamespace):
    """The watchdog of a worker."""

    def poll(self) -> int | None:
        return self.exited  # type: ignore[no-any-return]


def with_worker(run: Run, exited: int | None) -> Run:
    return Run(run.folder, worker=Worker(pid=4711, exited=exited))  # type: ignore[arg-type]


def test_a_worker_is_there_until_it_exits() -> None:
    run = write_run("a", [steps(1, [1.0])], {"status": "completed"})
    alive, gone = with_worker(run, None), with_worker(run, -9)
    assert (alive.has_worker, alive.watchdog_pid) == (True, 4711)
    assert (gone.has_worker, gone.watchdog_pid) == (False, None)
    run.folder.summary_path.unlink()
    assert (alive.status, alive.error) == ("starting", None)
    assert (gone.status, gone.ended) == ("failed", True)
    assert gone.error is not None
    assert "killed by SIGKILL" in gone.error


def test_a_run_that_is_not_detached_keeps_its_limit_of_steps_when_it_is_resumed() -> None:
    for detached, expected in ((False, 7), (True, None)):
        run = write_run("a", [])
        run.spec["detached"] = detached
        create_control(run.folder.control_path, granted_steps=7)
        run.pause()
        run.resume()
        found = ControlReader(run.folder.control_path).read()
        assert found.state == "run"
        if expected is None:
            assert found.granted_steps > 10**12
        else:
            assert found.granted_steps == expected
