"""The list of recorded comparisons tells them apart."""

from __future__ import annotations

import shutil

import pytest

from tests.runs.written import steps, write_run
from workbench.compare.lockstep import make_plan
from workbench.compare.record import ComparisonRecord, comparisons_folder
from workbench.controller.recorded_runs.recorded_comparisons import recorded_comparisons
from workbench.runs import Run
from workbench.runs.record.duration import started_at
from workbench.runs.run_title import start_text
from workbench.widgets.model.options import comparison_options


@pytest.fixture
def runs() -> list[Run]:
    """Those of one comparison, whose record is written."""
    record = ComparisonRecord(make_plan(20, 2), ["pytorch", "ondevice"])
    made = []
    for engine in ("pytorch", "ondevice"):
        run = write_run("a", [steps(1, [0.1] * 20)], {"status": "completed"}, engine=engine)
        record.add_run(engine, run.id)
        made.append(run)
    return made


def test_a_comparison_is_told_by_engines_model_and_start(runs: list[Run]) -> None:
    [found] = recorded_comparisons()
    assert found.title == "pytorch, ondevice on model-a"
    assert found.runs == tuple(run.id for run in runs)
    assert found.started == start_text(started_at(runs[0].spec))
    [option] = comparison_options()
    assert option["detail"] == f"{found.title}, lr 0.001, batch 10, 1 epoch, {found.started}"


@pytest.mark.fault
def test_what_cannot_be_opened_is_said(runs: list[Run]) -> None:
    shutil.rmtree(runs[0].folder.path)
    [found] = recorded_comparisons()
    assert found.title == "pytorch, ondevice: a run of it was removed or cannot be read"
    next(comparisons_folder().glob("*.json")).write_text("{")
    [found] = recorded_comparisons()
    assert "is not valid JSON" in found.title or "corrupt" in found.title
