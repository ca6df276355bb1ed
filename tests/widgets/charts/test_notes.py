"""How far throughputs can be trusted, in a few words beside the curves."""

from __future__ import annotations

import math

import pytest

from workbench.machine.load import Load
from workbench.run_folder.results.step_results import StepResults
from workbench.widgets.charts import throughput_notes

BUSY, QUIET = Load(10.0, 12.0, 2), Load(10.0, 0.1, 2)


@pytest.mark.parametrize(
    ("loads", "note"),
    [
        ({"a": QUIET, "b": QUIET}, "median over the run"),
        ({"a": QUIET, "b": None}, "load not known of some, median over the run"),
        ({"a": None, "b": None}, "load not known, median over the run"),
        ({"a": BUSY, "b": None}, "some on a busy machine, median over the run"),
        ({"a": BUSY, "b": BUSY}, "machine busy, median over the run"),
    ],
)
def test_what_is_said_of_some_is_not_said_of_all(loads: dict[str, Load | None], note: str) -> None:
    results = {name: StepResults(100.0, 0.5, (), load) for name, load in loads.items()}
    assert throughput_notes(results)[1] == note
    # One that was not measured has no throughput to doubt.
    results["unmeasured"] = StepResults(math.nan, math.nan, (), None)
    assert throughput_notes(results)[1] == note


def test_a_run_of_unmeasured_steps_says_why_it_has_no_throughput() -> None:
    short = {"a": StepResults(math.nan, 0.5, (0.7, 0.5), None)}
    reason = "which are not measured (Unmeasured steps, in Evaluation and measuring)."
    assert throughput_notes(short) == (
        f"There is no throughput of a: it took only the first steps, {reason}",
        "too few steps to measure",
    )
    remark, note = throughput_notes({"b": StepResults(100.0, 0.5, (0.7,), QUIET), **short})
    assert remark.startswith("There is no throughput of a: ")
    assert note == "median over the run, some with too few steps to measure"
    remark, _ = throughput_notes({**short, "c": short["a"]})
    assert (
        remark == f"There is no throughput of these runs: they took only the first steps, {reason}"
    )
