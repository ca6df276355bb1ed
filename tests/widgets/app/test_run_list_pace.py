"""The list of runs is polled seldom while something trains and another step is shown."""

from __future__ import annotations

from typing import Any

from workbench.controller.state import PREPARING
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.run_list_pace import UNSEEN_S, RunListPace


def test_a_list_that_is_not_in_view_waits_while_a_job_is_in_progress() -> None:
    bar = AppBar()
    pace = RunListPace(bar)
    bar.selected = "train"
    assert pace() == 0.0
    pace.show_state(PREPARING)
    assert pace() == UNSEEN_S
    bar.selected = "runs"
    assert pace() == 0.0
    bar.selected = "train"
    pace.show_state(PREPARING._replace(status="idle"))
    assert pace() == 0.0


def test_a_run_is_listed_when_it_starts_and_whenever_its_status_changes() -> None:
    pace = RunListPace(AppBar())
    polls: list[int] = []
    pace.refresh = lambda: polls.append(1)
    job: Any = object()
    pace.job_started(job)
    assert len(polls) == 1
    for status in ("starting", "starting", "running", "running", "paused", "completed", "idle"):
        pace.show_state(PREPARING._replace(status=status))
    assert len(polls) == 6
