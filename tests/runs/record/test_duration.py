"""How long a run was in progress: from its record, however much later it is looked at."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.controller.recording_view import RecordingView
from tests.runs.written import DONE, LAUNCHED, steps, write_run
from workbench.controller.following.follower import Follower
from workbench.controller.jobs.training import Training
from workbench.controller.state import State
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run, observed_run, runs, train
from workbench.runs.continuation.resuming import resume_run
from workbench.runs.record.duration import duration_s, started_at
from workbench.runs.record.labelled_run import total_duration_s

ENDED = {"status": "completed", "ended": LAUNCHED + 134}


def test_a_recorded_run_that_is_shown_later_has_the_duration_of_its_record() -> None:
    run = write_run("a", [steps(1, [1.0, 1.0])], ENDED)
    assert run.duration_s == 134
    assert runs()["duration_s"][0] == 134
    states: list[State] = []
    view = RecordingView()
    view.job_started(job := Training.of(run))
    Follower(job, view, states.append).poll()
    assert states[-1].detail == "2 min 14 s"


def test_a_run_under_way_lasts_until_now_and_one_that_was_killed_until_its_last_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_run("a", [steps(1, [1.0])])
    assert run.duration_s == pytest.approx(time.time() - LAUNCHED, abs=60)
    monkeypatch.setattr(observed_run, "is_locked", lambda _: False)
    os.utime(run.folder.events_path, (LAUNCHED + 9, LAUNCHED + 9))
    assert run.status == "failed"
    assert run.duration_s == 9


def test_runs_that_take_turns_last_from_the_first_launch_to_the_last_end() -> None:
    first = write_run("a", [], ENDED)
    second = write_run("b", [], {**ENDED, "ended": LAUNCHED + 200})
    assert total_duration_s([first, second]) == 200
    assert math.isnan(total_duration_s([]))


@pytest.mark.fault
def test_a_clock_that_was_set_back_gives_no_negative_duration() -> None:
    assert write_run("a", [], {**ENDED, "ended": LAUNCHED - 5}).duration_s == 0


@pytest.mark.fault
@pytest.mark.parametrize("ended", ["soon", None, 1e300, True])
def test_an_end_that_is_no_time_counts_as_none(ended: object) -> None:
    run = write_run("a", [], {**ENDED, "ended": ended})
    os.utime(run.folder.events_path, (LAUNCHED + 3, LAUNCHED + 3))
    assert run.duration_s == 3


def test_the_time_between_an_end_and_resuming_does_not_count(digits: object) -> None:
    run = train("digits-mlp", digits, engine="fake", steps=5).wait()  # type: ignore[arg-type]
    folder = RunFolder(run.folder.path)
    folder.write_spec({**run.spec, "launched": 1000.0})
    folder.write_summary({**(run.summary or {}), "ended": 1050.0})
    earlier = Run(folder)
    resumed = resume_run(earlier, model=None, detached=False, settings={"steps": 8}).wait()
    again = Run(folder)
    assert again.spec["first_launched"] == 1000.0
    assert again.spec["earlier_s"] == 50.0
    assert 50 < resumed.duration_s < 50 + 120
    [row] = runs().to_dict("records")
    assert row["duration_s"] == resumed.duration_s


@pytest.mark.parametrize(
    ("launched", "first", "expected"),
    [
        (5.0, None, 5.0),
        (5.0, 2, 2.0),
        (5.0, True, 5.0),
        (5.0, "2", 5.0),
        (999_999_999_999.0, None, 999_999_999_999.0),
        (1e12, None, math.nan),
        (-1e12, None, math.nan),
        (-5, None, -5.0),
        (None, None, math.nan),
    ],
)
def test_a_run_started_when_it_was_first_launched(
    launched: Any, first: Any, expected: float
) -> None:
    found = started_at({"launched": launched, "first_launched": first})
    assert found == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert math.isnan(started_at({}))


def test_a_duration_is_no_number_where_the_record_does_not_tell(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "nowhere")
    assert duration_s(folder, {"launched": 10.0}, {"ended": 12.5}, False) == 2.5
    assert duration_s(folder, {"launched": 10.0, "earlier_s": 3}, {"ended": 12.5}, False) == 5.5
    assert duration_s(folder, {"launched": 10.0, "earlier_s": None}, {"ended": 9}, False) == 0
    assert math.isnan(duration_s(folder, {}, {"ended": 12.5}, False))
    assert math.isnan(duration_s(folder, {"launched": 10.0}, None, False))
    now = duration_s(folder, {"launched": 10.0}, None, True)
    assert now == pytest.approx(time.time() - 10, abs=60)


def test_runs_of_which_one_is_not_known_last_as_long_as_the_others() -> None:
    known = [
        write_run(label, [], {**DONE, "ended": LAUNCHED + s}) for label, s in (("a", 7), ("b", 3))
    ]
    unknown = write_run("c", [], DONE)
    unknown.folder.events_path.unlink()
    unknown.folder.write_summary({"status": "completed", "error": None})
    assert math.isnan(unknown.duration_s)
    assert total_duration_s([unknown, *known]) == 7
    assert total_duration_s(known[1:]) == 3
    assert math.isnan(total_duration_s([unknown, unknown]))
