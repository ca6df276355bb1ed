"""Names of compared runs: no longer than it takes to tell them apart."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.runs.written import steps, write_run
from workbench.compare.recorded_runs.run_names import distinct_names
from workbench.runs import Run

MORNING = datetime.datetime(2001, 5, 3, 9, 30, 15).timestamp()  # local time, as titles have
DAY_S = 86_400


def run_of(model: str = "a", engine: str = "pytorch", after_s: float = 0, name: str = "") -> Run:
    run = write_run(model, [steps(1, [1.0])], {"status": "completed"}, engine=engine)
    run.spec["launched"] = MORNING + after_s
    if name:
        run.rename(name)
    return run


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([{}], ["model-a · pytorch · 3 May 2001 09:30:15"]),
        ([{}, {"engine": "ondevice"}], ["pytorch", "ondevice"]),
        ([{}, {"model": "b"}], ["model-a · pytorch", "model-b · pytorch"]),
        (
            [{}, {"model": "b", "engine": "ondevice"}],
            ["model-a · pytorch", "model-b · ondevice"],
        ),
        ([{}, {"after_s": 5}], ["pytorch · 09:30:15", "pytorch · 09:30:20"]),
        (
            [{}, {"after_s": DAY_S}],
            ["pytorch · 3 May 2001 09:30:15", "pytorch · 4 May 2001 09:30:15"],
        ),
        (
            [{}, {"model": "b"}, {"after_s": 1}],
            [
                "model-a · pytorch · 09:30:15",
                "model-b · pytorch · 09:30:15",
                "model-a · pytorch · 09:30:16",
            ],
        ),
        ([{"name": "baseline"}, {}], ["baseline", "pytorch"]),
        ([{"name": "pytorch"}, {}], ["pytorch", "model-a · pytorch"]),
    ],
)
def test_a_name_has_what_distinguishes_the_run(
    runs: list[dict[str, Any]], names: list[str]
) -> None:
    assert distinct_names([run_of(**each) for each in runs]) == names


def test_equal_display_names_are_told_apart_by_their_ids() -> None:
    runs = [run_of(name="same"), run_of(name="same"), run_of()]
    first, second, other = runs
    assert distinct_names(runs) == [f"same ({first.id})", f"same ({second.id})", other.title]
