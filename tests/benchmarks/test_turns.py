"""The run that benchmarks of the loop and of the page measure is followed as one in progress."""

from __future__ import annotations

import pytest

from benchmarks.runs.loop_overhead import Turns
from workbench.controller.following.follower import Follower
from workbench.controller.jobs.training import Training
from workbench.controller.state import State
from workbench.controller.view import View
from workbench.runs import load_run


@pytest.mark.fault
def test_a_run_in_turns_is_followed_while_it_is_held_and_goes_on() -> None:
    with Turns("fake") as turns:
        assert turns.seconds("bare", 3) > 0
        assert turns.seconds("worker", 5) > 0
        run = load_run(turns.run_id)
        states: list[State] = []
        follower = Follower(Training.of(run), View(), states.append)
        assert follower.poll() == "running"
        assert turns.seconds("worker", 5) > 0
        assert follower.poll() == "running"
        assert states[-1].detail.startswith("step 10 of ")
    assert run.status != "running"
