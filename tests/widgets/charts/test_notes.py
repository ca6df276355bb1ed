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
