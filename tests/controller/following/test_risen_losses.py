"""What is said of a test loss that was lower before the end."""

from __future__ import annotations

import math

import pytest

from tests.runs.written import DONE, steps, write_run
from workbench.chart_series.evaluations import Evaluations
from workbench.controller.following.follower import Follower
from workbench.controller.following.risen_losses import risen_losses
from workbench.controller.jobs.training import Training
from workbench.controller.state import State
from workbench.controller.view import View


def evaluated(*losses: float | None) -> Evaluations:
    found = Evaluations()
    found.add(
        [
            {"event": "evaluation", "step": 10 * number, "loss": loss}
            for number, loss in enumerate(losses, start=1)
        ]
    )
    return found


@pytest.mark.parametrize(
    "losses", [(), (0.5,), (0.5, 0.1, 0.12), (0.5, 0.1, None), (None, None), (-0.1, 0.5)]
)
def test_nothing_is_said_of_one_that_has_not_risen_or_is_no_number(
    losses: tuple[float | None, ...],
) -> None:
    assert risen_losses({"pytorch": evaluated(*losses)}, "step") == []


def test_the_lowest_is_told_with_its_step_and_the_engines_that_share_it() -> None:
    alone = risen_losses({"pytorch": evaluated(0.5, 0.1, math.nan, 0.2)}, "round")
    assert alone == ["The test loss was lowest, 0.1000 at round 20, and has risen since."]
    risen = evaluated(0.1, 0.2)
    found = {"pytorch": risen, "ondevice": evaluated(0.5, 0.1), "ortmodule": risen}
    assert risen_losses(found, "step") == [
        "The test loss of pytorch and ortmodule was lowest, 0.1000 at step 10, and has risen since."
    ]


def test_it_is_told_once_the_run_has_ended_of_what_counts_since_it_was_resumed() -> None:
    def evaluation(step: int, loss: float) -> dict[str, object]:
        return {
            **{"event": "evaluation", "step": step, "epoch": 1, "samples": 4, "seconds": 0.1},
            **{"loss": loss, "accuracy": None},
        }

    events = [
        steps(1, [0.1] * 9),
        evaluation(4, 0.3),
        evaluation(8, 0.1),
        {"event": "restored", "step": 5},
        steps(6, [0.1] * 4),
        evaluation(9, 0.6),
    ]
    states: list[State] = []
    run = write_run("a", events, DONE, steps=9)  # type: ignore[arg-type]
    Follower(Training.of(run), View(), states.append).poll()
    assert states[-1].message.splitlines()[-1] == (
        "The test loss was lowest, 0.3000 at step 4, and has risen since."
    )
