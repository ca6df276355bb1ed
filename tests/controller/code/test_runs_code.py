"""The Python beside the list of runs."""

from __future__ import annotations

import ast

import pytest

import workbench as wb
from tests.runs.recorded import recorded
from workbench.compare import RunComparison
from workbench.controller.code.run_action_code import comparison_code
from workbench.controller.code.runs_code import runs_code
from workbench.data import Dataset
from workbench.runs.listing import RunIndex, RunRow


def test_the_code_is_for_the_selected_runs(digits: Dataset) -> None:
    folders = [recorded(digits, engine) for engine in ("pytorch", "ondevice")]
    rows = RunIndex().poll().rows
    found: dict[str, object] = {}
    exec(runs_code([]), found)
    exec(runs_code(rows[:1]), found)
    exec(runs_code(rows), found)
    run, comparison = found["run"], found["comparison"]
    assert isinstance(run, wb.Run)
    assert run.id == folders[1].id
    assert isinstance(comparison, RunComparison)
    assert {each.id for each in comparison.runs.values()} == {folder.id for folder in folders}


def test_a_cell_shows_every_value_of_a_comparison() -> None:
    rows = [RunRow(each, "completed", model="net") for each in "ab"]
    for code in (runs_code(rows), comparison_code("a")):
        values = [each.value for each in ast.parse(code).body if isinstance(each, ast.Expr)]
        calls = [each.func for each in values if isinstance(each, ast.Call)]
        assert [ast.unparse(each) for each in calls[-1:]] == ["comparison.table"]
        assert {ast.unparse(each) for each in calls[:-1]} <= {"display", "print"}


@pytest.mark.parametrize(
    ("status", "there", "not_there"),
    [
        (
            "completed",
            ["from_run(run)", "run.export('a-net.onnx')", "run = wb.resume(run, rounds=8).wait()"],
            ["wb.resume(run)", "stop"],
        ),
        ("stopped", ["run = wb.resume(run).wait()", "run.export("], ["run.stop()"]),
        ("paused", ["# run.resume()", "# run.stop()"], ["export", "wb.resume"]),
        ("running", ["# run.stop()"], ["export", "resume"]),
        ("unreadable", ["# a cannot be read: It is of a newer version.", "wb.runs()"], ["load"]),
    ],
)
def test_possible_actions_on_a_run_are_in_comments(
    status: str, there: list[str], not_there: list[str]
) -> None:
    row = RunRow(
        "a",
        status,  # type: ignore[arg-type]
        model="a net",
        reason="It is of\na newer version.",
        step_word="round",
        steps=4,
    )
    code = runs_code([row])
    assert all(each in code for each in there), code
    assert not any(each in code for each in not_there), code
