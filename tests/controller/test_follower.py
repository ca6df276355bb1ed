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
