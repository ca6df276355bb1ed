"""Errors of `Run.save` where no checkpoint is written."""

from __future__ import annotations

import pytest

from tests.runs.fake_runs import Misbehave
from tests.runs.written import write_run
from workbench.errors import RunError
from workbench.run_folder.control import create_control
from workbench.run_folder.events import Event
from workbench.runs import Run

pytestmark = pytest.mark.fault


def under_way(*events: Event) -> Run:
    run = write_run("a", [*events])
    create_control(run.folder.control_path, granted_steps=None)
    return run


def test_a_run_that_fails_before_it_is_saved_says_why(misbehave: Misbehave) -> None:
    run = misbehave(build_ms=500, raise_while_building=True)
    with pytest.raises(RunError, match=r"failed before it was saved: .*raise while building"):
        run.save(60)


def test_weights_that_are_not_finite_are_not_saved() -> None:
    run = under_way({"event": "saved", "step": 3, "request": 1, "finite": False})
    with pytest.raises(RunError, match="was not saved: at step 3 a weight is not finite"):
        run.save(60)


def test_a_run_that_does_not_answer_in_time_is_an_error() -> None:
    with pytest.raises(TimeoutError, match="has not saved within 0 s"):
        under_way().save(0)
