"""Runs that a new page offers to follow or to resume."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.runs.recorded import changed, recorded
from workbench.controller.jobs import offered_runs
from workbench.data import Dataset


@pytest.mark.parametrize("status", ["stopped", "completed", "failed"])
def test_a_run_that_ends_while_it_is_offered_was_not_interrupted(
    status: str, digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(digits)
    changed(folder.summary_path, lambda summary: {**summary, "status": status})
    run = wb.load_run(folder.id)
    monkeypatch.setattr(offered_runs, "_waiting_runs", lambda: [run])  # as it was a moment ago
    assert offered_runs.offers() == []
