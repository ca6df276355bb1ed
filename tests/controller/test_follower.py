"""The state of a job and its points belong together, however short the run is."""

from __future__ import annotations

from tests.runs.written import append, steps, write_run
from workbench.controller.follower import Follower
from workbench.controller.jobs.job import Training
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.runs import Run

STARTED = {"event": "started", "pid": 1, "engine": "fake"}


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
