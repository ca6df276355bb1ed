"""The state of a job and its points belong together, however short the run is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runs.written import append, steps, write_run
from workbench.compare import Comparison
from workbench.compare.lockstep import make_plan
from workbench.controller.following import follower as module
from workbench.controller.following.follower import CONTROLLED_S, LOOK_S, SOON_S, Follower
from workbench.controller.following.update_pace import always
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.training import Training
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.errors import RunError
from workbench.machine.load import Load
from workbench.runs import Run

STARTED = {"event": "started", "pid": 1, "engine": "fake"}
BUILT = {"event": "built", "rss_before_bytes": 1}


class GoesOn(View):
    """Lets a run take its first steps between the look at its status and that at its points."""

    def __init__(self, run: Run) -> None:
        self._path = run.folder.events_path
        self._gone_on = False

    def show_total_steps(self, steps_in_all: int) -> None:
        if not self._gone_on:
            self._gone_on = True
            append(self._path, [{"event": "built", "rss_before_bytes": 1}, steps(1, [0.1, 0.1])])


def test_points_are_not_ahead_of_the_status() -> None:
    run = write_run("a", [STARTED])
    states: list[State] = []
    assert run.status == "starting"
    Follower(Training.of(run), GoesOn(run), states.append).poll()
    [state] = states
    assert state.status == "running"
    assert state.detail.startswith("step 2 of ")


def test_the_step_is_that_of_the_engine_that_trains_now() -> None:
    first, second = write_run("a", [STARTED]), write_run("b", [STARTED])
    built = {"event": "built", "rss_before_bytes": 1}
    append(first.folder.events_path, [built, steps(1, [0.1, 0.1])])
    append(second.folder.events_path, [built])
    job = Training.of(first)
    job.engines = ["fake", "other"]
    job.runs = {"fake": first, "other": second}
    states: list[State] = []
    follower = Follower(job, View(), states.append)
    follower.poll()
    assert states[-1].status == "running"
    assert not states[-1].detail.startswith("step"), "not the last step of the one before"
    append(second.folder.events_path, [steps(1, [0.1])])
    follower.poll()
    assert states[-1].detail.startswith("step 1 of ")


class Clock:
    """Seconds that pass when they are told to, and how often a job was looked at in them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.looks = self.paces = 0
        self.states: list[State] = []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        run = write_run("a", [STARTED, {"event": "built", "rss_before_bytes": 1}])
        self.events_path = run.folder.events_path
        job = Training.of(run)
        job.advance = self._look  # type: ignore[method-assign]
        self.follower = Follower(job, View(), self.states.append, self._pace)
        self.follower.poll()
        self.looks, self.states[:] = 0, []

    def _pace(self) -> Callable[[], float]:
        self.paces += 1
        return always(1e9)

    def _look(self) -> None:
        self.looks += 1

    def polls(self, seconds: float) -> tuple[int, int]:
        """Looks and shown states of the polls, ten a second, of so long."""
        before = self.looks, len(self.states)
        for _ in range(round(10 * seconds)):
            self.now += 0.1
            self.follower.poll()
        return self.looks - before[0], len(self.states) - before[1]


def test_a_job_that_is_shown_seldom_is_looked_at_seldom_until_it_is_controlled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    looks, shown = clock.polls(10)
    assert looks == pytest.approx(10 / LOOK_S, rel=0.25)
    assert shown == 0
    clock.follower.control(lambda job: None)
    assert clock.polls(0.1) == (1, 1), "that it is being stopped is shown at once"
    looks, shown = clock.polls(CONTROLLED_S - 0.3)
    assert looks == round(10 * (CONTROLLED_S - 0.3))
    assert shown == pytest.approx((CONTROLLED_S - 0.3) / SOON_S, abs=1), "what it does is seen"
    looks, _ = clock.polls(10)
    assert looks == pytest.approx(10 / LOOK_S, rel=0.25)


@pytest.mark.parametrize(
    ("event", "status"),
    [({"event": "paused"}, "paused"), ({"event": "resuming", "step": 0}, "starting")],
)
def test_a_run_that_is_paused_or_starts_is_followed_closely(
    event: dict[str, object], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    append(clock.events_path, [event])
    clock.polls(LOOK_S + 0.2)
    assert clock.states[-1].status == status
    _, shown = clock.polls(4)
    assert shown == pytest.approx(4 / SOON_S, rel=0.1), "such as a step that takes long"


def test_a_run_that_takes_no_step_for_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose worker hangs, or waits for the disk; what was left is not known then."""
    clock = Clock(monkeypatch)
    clock.follower._make_pace = lambda: always(1.0)
    clock.follower._update_pace = always(1.0)

    def after(seconds: float) -> str:
        clock.polls(seconds)
        return clock.states[-1].detail

    assert "no step" not in after(5)
    assert after(10).endswith("; no step for 14 s"), "before its first one, too"
    append(clock.events_path, [steps(1, [0.1, 0.1])])
    assert "no step" not in after(5)
    assert "; no step for 2" in after(20)
    assert clock.states[-1].left_s < 0
    append(clock.events_path, [steps(3, [4.0])])
    assert "no step" not in after(30), "where each takes that long"
    append(clock.events_path, [{"event": "paused"}])
    assert "no step" not in after(60)
    append(clock.events_path, [{"event": "resumed"}])
    assert "no step" not in after(30)


def test_a_last_evaluation_is_no_hanging_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    clock.follower._make_pace = lambda: always(1.0)
    clock.follower._update_pace = always(1.0)
    append(clock.events_path, [steps(1, [0.1] * 3)])
    clock.polls(30)
    assert clock.states[-1].status == "running"
    assert clock.states[-1].detail.startswith("step 3 of 3")
    assert "no step" not in clock.states[-1].detail


def test_the_time_that_an_engine_has_been_starting_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    first, second = write_run("a", [STARTED]), write_run("b", [STARTED])
    job = Training.of(first)
    job.engines = ["fake", "other"]
    states: list[State] = []
    follower = Follower(job, View(), states.append)
    now += 29
    follower.poll()
    assert states[-1].detail == "29 s"
    job.runs = {"fake": first, "other": second}
    follower.poll()
    now += 3
    follower.poll()
    assert states[-1].detail == "3 s"


def test_a_resumed_run_is_measured_by_its_own_first_losses() -> None:
    """Not by the far lower ones after which it was resumed: those that follow may be higher."""
    built = {"event": "built", "rss_before_bytes": 1}
    learnt = [6.0] * 20 + [1e-5] * 20
    run = write_run("a", [STARTED, built, steps(1, [0.1] * 40, learnt)], warmup_steps=0)
    states: list[State] = []
    follower = Follower(Training.of(run), View(), states.append)
    follower.poll()
    restored = {"event": "restored", "step": 40}
    again = [restored, steps(41, [0.1] * 20, [1e-5] * 20), steps(61, [0.1] * 30, [1e-3] * 30)]
    append(run.folder.events_path, again)
    run.folder.write_summary({"engine": "fake", "error": None, "status": "completed"})
    follower.poll()
    assert "diverges" not in states[-1].message
    assert states[-1].level == "done"


def test_a_run_whose_loss_diverged_is_no_success() -> None:
    losses = [2.3] * 20 + [1e9] * 100
    done = {"status": "completed", "steps": 120, "evaluation": {"loss": 5e5, "accuracy": 0.1}}
    run = write_run("a", [STARTED, steps(1, [0.1] * 120, losses)], done, steps=120)
    states: list[State] = []
    Follower(Training.of(run), View(), states.append).poll()
    [state] = states
    assert (state.level, state.caveat) == ("paused", "loss diverged")
    first, second = state.message.splitlines()
    assert first.startswith("fake: loss diverges from step 21: more than twice its first values;")
    assert second.startswith("Trained model-a on fake: 120 steps")


def test_a_comparison_on_a_busy_machine_is_no_success() -> None:
    done = {"status": "completed", "steps": 30}
    engines = ("pytorch", "ondevice")
    runs = {each: write_run(each, [steps(1, [0.1] * 30)], done, engine=each) for each in engines}
    busy = Load(wall_s=10.0, other_s=9.0, cores=2)
    states: list[State] = []
    for loads in ([busy], []):
        comparison = Comparison("c", make_plan(30, 2), [*engines], loads, runs=runs)
        Follower(ComparisonJob(comparison), View(), states.append).poll()
    disturbed, quiet = states
    assert (disturbed.level, disturbed.caveat) == ("paused", "machine was busy")
    first, second = disturbed.message.splitlines()
    assert first == quiet.message == "Compared pytorch and ondevice on model-pytorch."
    assert "these ratios are not reliable" in second
    assert "“Wait for idle machine (s)”" in second
    assert (quiet.level, quiet.caveat) == ("done", "")


def test_an_engine_that_was_stopped_alone_has_no_steps_left() -> None:
    stopped = {"status": "stopped", "steps": 5}
    runs = {
        "pytorch": write_run("a", [STARTED, steps(1, [0.1] * 30)], engine="pytorch", steps=60),
        "ondevice": write_run("b", [steps(1, [0.1] * 5)], stopped, engine="ondevice", steps=60),
    }
    states: list[State] = []
    comparison = Comparison("c", make_plan(60, 2), [*runs], runs=runs)
    Follower(ComparisonJob(comparison), View(), states.append).poll()
    assert states[-1].progress == 0.5


def test_a_job_that_was_stopped_keeps_the_share_that_it_has_done() -> None:
    done, stopped = {"status": "completed", "steps": 30}, {"status": "stopped", "steps": 0}
    runs = {
        "pytorch": write_run("a", [steps(1, [0.1] * 30)], done, engine="pytorch", steps=30),
        "ondevice": write_run("b", [STARTED], stopped, engine="ondevice", steps=30),
    }
    job = Training.of(runs["pytorch"])
    job.engines, job.runs = [*runs], runs
    states: list[State] = []
    Follower(job, View(), states.append).poll()
    assert (states[-1].status, states[-1].progress) == ("stopped", 0.5)


def test_the_epoch_is_that_of_the_engine_whose_step_is_told() -> None:
    ahead = write_run("a", [STARTED, BUILT, steps(1, [0.1] * 7)], engine="pytorch", steps=30)
    behind = write_run("b", [STARTED, BUILT, steps(1, [0.1])], engine="ondevice", steps=30)
    runs = {"pytorch": ahead, "ondevice": behind}
    states: list[State] = []
    comparison = Comparison("c", make_plan(30, 2), [*runs], runs=runs)
    Follower(ComparisonJob(comparison), View(), states.append).poll()
    assert states[-1].detail == "step 7 of 30, epoch 3"


def test_a_comparison_is_starting_until_its_last_engine_has_started() -> None:
    """Else what its start takes would count as the pace of the steps."""
    first = write_run("a", [STARTED, BUILT, steps(1, [0.1])], engine="pytorch", steps=30)
    last = write_run("b", [STARTED], engine="ondevice", steps=30)
    states: list[State] = []
    comparison = Comparison(
        "c", make_plan(30, 2), ["pytorch", "ondevice"], runs={"a": first, "b": last}
    )
    Follower(ComparisonJob(comparison), View(), states.append).poll()
    assert (states[-1].status, states[-1].detail, states[-1].left_s) == ("starting", "0 s", -1.0)


def test_the_pace_is_measured_anew_whenever_training_begins_or_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    before = clock.paces
    append(clock.events_path, [{"event": "paused"}])
    clock.polls(LOOK_S + 0.2)
    assert clock.paces == before
    append(clock.events_path, [{"event": "resumed"}])
    clock.polls(LOOK_S + 0.2)
    assert clock.states[-1].status == "running"
    assert clock.paces == before + 1


def test_a_refused_control_is_shown_and_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    def refuse(_: object) -> None:
        raise RunError("Another process controls it.")

    clock.follower.control(refuse)
    assert clock.follower.poll() == "running"
    [state] = clock.states
    assert (state.status, state.level) == ("running", "error")
    assert state.message == "Another process controls it."
    clock.now += 2e9
    clock.follower.poll()
    assert clock.states[-1].message.startswith("Training")


def test_a_loss_that_leapt_and_stays_high_is_no_success_and_not_over_fitting() -> None:
    losses = [2.3, 2e5] + [5.9] * 118
    done = {"status": "completed", "steps": 120, "evaluation": {"loss": 9.0, "accuracy": 0.1}}
    tests = [
        {
            "event": "evaluation",
            "step": step,
            "epoch": 1,
            "samples": 4,
            "seconds": 0.1,
            "loss": loss,
        }
        for step, loss in ((50, 4.9), (120, 9.0))
    ]
    events = [STARTED, steps(1, [0.1] * 120, losses, batch_size=32), *tests]
    run = write_run("a", events, done, steps=120)  # type: ignore[arg-type]
    states: list[State] = []
    Follower(Training.of(run), View(), states.append).poll()
    [state] = states
    assert (state.level, state.caveat) == ("paused", "loss leapt")
    first, second = state.message.splitlines()
    assert first.startswith("fake: loss leaps at step 2 and does not recover;")
    assert second.startswith("Trained model-a on fake: 120 steps")
