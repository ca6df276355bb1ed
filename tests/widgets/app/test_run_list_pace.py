"""The list of runs is polled seldom while something trains; in view it follows the run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.controller.state import PREPARING
from workbench.widgets.app import run_list_pace as module
from workbench.widgets.app.app_bar import AppBar
from workbench.widgets.app.run_list_pace import BUSY_S, SEEN_S, RunListPace

RUNNING = PREPARING._replace(status="running")


def test_the_list_waits_while_a_job_is_in_progress() -> None:
    pace = RunListPace(AppBar())
    assert pace() == 0.0
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


def test_a_list_in_view_tells_the_step_that_the_status_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    bar = AppBar()
    bar.selected = "runs"
    pace = RunListPace(bar)
    polls: list[float] = []
    pace.refresh = lambda: polls.append(now[0])
    for _ in range(5):  # as seldom as a run that needs every core is shown
        pace.show_state(RUNNING)
        now[0] += 2.0
    assert polls == [100.0, 102.0, 104.0, 106.0, 108.0]
    polls.clear()
    for _ in range(20):  # ten states a second
        pace.show_state(RUNNING)
        now[0] += 0.1
    assert len(polls) == pytest.approx(2 / SEEN_S, abs=1)
