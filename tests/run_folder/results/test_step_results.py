"""What the steps of a run came to, computed and as its summary records it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.written import steps, write_run
from workbench.errors import RunFolderError
from workbench.machine.load import Load
from workbench.run_folder.loss_curve import MOST_POINTS
from workbench.run_folder.records import SummaryRecord, check_record
from workbench.run_folder.results.step_results import StepResults
from workbench.runs import Run


def load(step: int, other_s: float) -> dict[str, Any]:
    return {"event": "load", "step": step, "wall_s": 10.0, "other_s": other_s, "cores": 2}


def in_progress(*events: dict[str, Any]) -> Run:
    return write_run("a", list(events), warmup_steps=1, steps=4)


def test_they_are_those_of_all_steps() -> None:
    losses = [2.0, None, 1.5, 1.75]
    run = in_progress(steps(1, [9.0, 0.5, 0.5, 2.0], losses), load(3, 4.0), load(4, 8.0))
    assert run.step_results().disturbance == "other programs used 0.6 of 2 cores"
    found = run.step_results()
    assert (found.samples_per_s, found.best_loss) == (10.0, 1.5)
    np.testing.assert_array_equal(found.loss_curve, [2.0, math.nan, 1.5, 1.75])
    assert found.load == run.load == Load(20.0, 12.0, 2)


def test_without_steps_nothing_is_known() -> None:
    found = in_progress().step_results()
    assert math.isnan(found.samples_per_s)
    assert math.isnan(found.best_loss)
    assert (found.loss_curve, found.load) == ((), None)


def test_the_load_of_steps_that_are_trained_again_does_not_count() -> None:
    first = [steps(1, [0.5] * 4), load(2, 4.0), load(4, 20.0)]
    run = in_progress(*first, {"event": "restored", "step": 3}, load(4, 6.0))
    assert run.load == Load(20.0, 10.0, 2)


def test_the_load_of_a_few_steps_is_not_that_of_all() -> None:
    assert in_progress(steps(1, [9.0, 10.0, 10.0]), load(3, 4.0)).load == Load(10.0, 4.0, 2)
    assert in_progress(steps(1, [9.0, 10.0, 10.1]), load(3, 4.0)).load is None


def test_without_a_throughput_nothing_is_disturbed() -> None:
    found = in_progress(steps(1, [9.0]), load(1, 12.0)).step_results()
    assert found.load is not None
    assert found.disturbance == ""


def test_steps_that_a_damaged_record_lacks_leave_their_room_in_the_curve() -> None:
    found = in_progress(steps(1, [0.5] * 2, [2.0, 2.0]), steps(5, [0.5], [1.0])).step_results()
    np.testing.assert_allclose(found.loss_curve, [2.0, 2.0, 5 / 3, 4 / 3, 1.0])


def test_the_throughput_that_a_comparison_has_found_before_is_kept() -> None:
    older = {"status": "completed", "samples_per_s": 17.5}
    run = write_run("a", [steps(1, [1.0, 0.5])], older, warmup_steps=0)
    assert run.samples_per_s == 17.5
    assert run.step_results().loss_curve == (1.0, 1.0)


@pytest.mark.parametrize("other_s", [0.0, 12.5])
def test_a_summary_holds_what_was_computed(other_s: float) -> None:
    losses = [3.0, None, 1.5, 1.0]
    found = in_progress(steps(1, [0.25] * 4, losses), load(4, other_s)).step_results()
    written = json.loads(json.dumps(found.record(), allow_nan=False))
    check_record(SummaryRecord, {"status": "completed", **written}, Path("summary.json"))
    recorded = StepResults.recorded(written)
    assert recorded is not None
    np.testing.assert_array_equal(recorded.loss_curve, found.loss_curve)
    assert recorded._replace(loss_curve=()) == found._replace(loss_curve=())


@pytest.mark.parametrize("summary", [None, {}, {"samples_per_s": 2.0}])
def test_a_summary_of_an_older_version_has_none(summary: dict[str, Any] | None) -> None:
    assert StepResults.recorded(summary) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"loss_curve": [1.0] * (MOST_POINTS + 1)},
        {"loss_curve": [math.inf]},
        {"load": {"wall_s": 1.0, "other_s": -1.0, "cores": 2}},
        {"load": {"wall_s": 1.0, "other_s": 1.0, "cores": 0}},
        {"load": 0.5},
    ],
)
def test_other_values_than_a_worker_writes_are_refused(fields: dict[str, Any]) -> None:
    [name] = fields
    with pytest.raises(RunFolderError, match=name):
        check_record(SummaryRecord, {"status": "completed", **fields}, Path("summary.json"))
