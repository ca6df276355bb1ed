"""The list of runs is polled seldom while something trains; in view it follows the run."""

from __future__ import annotations

from typing import Any

from workbench.controller.state import PREPARING
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.run_list_pace import BUSY_S, RunListPace

RUNNING = PREPARING._replace(status="running")


def test_the_list_waits_while_a_job_is_in_progress() -> None:
    pace = RunListPace(AppBar())
    assert pace() == 0.0
    for _ in range(3):
        pace.show_state(PREPARING)
        assert pace() == BUSY_S
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


def test_a_list_in_view_is_polled_after_each_state_of_the_job() -> None:
    bar = AppBar()
    pace = RunListPace(bar)
    polls: list[int] = []
    pace.refresh = lambda: polls.append(1)
    pace.show_state(RUNNING)
    bar.selected = "runs"
    assert len(polls) == 2, "as it comes into view"
    for _ in range(3):
        assert pace() == BUSY_S
        pace.show_state(RUNNING)
        assert pace() == 0.0
    bar.selected = "train"
    pace.show_state(RUNNING)
    assert pace() == BUSY_S
    assert len(polls) == 2
