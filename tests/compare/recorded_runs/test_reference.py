"""The run that recorded runs are compared with."""

from __future__ import annotations

from tests.runs.written import steps, write_run
from workbench.compare import compare_runs

DONE = {"status": "completed"}


def test_a_run_that_ended_in_its_warm_up_is_no_reference() -> None:
    short = write_run("a", [steps(1, [0.5] * 2)], {"status": "failed"}, engine="pytorch")
    ondevice = write_run("a", [steps(1, [0.5] * 30)], DONE, engine="ondevice", warmup_steps=2)
    faster = write_run("a", [steps(1, [0.25] * 30)], DONE, engine="ortmodule", warmup_steps=2)
    found = compare_runs([short, ondevice, faster])
    assert found.runs[found.reference].id == ondevice.id
    assert found.table()["ratio"].tolist()[1:] == [1.0, 2.0]
    assert compare_runs([short]).reference, "there is one all the same"
