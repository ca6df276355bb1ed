"""One row of the table of a comparison."""

from __future__ import annotations

import math

import pytest

from tests.runs.written import steps, write_run
from workbench.compare.comparison_row import measured_row
from workbench.compare.rounds.recorded_steps import RecordedSteps
from workbench.compare.rounds.statistics import Ratio, Speed

NONE = Ratio(math.nan, math.nan, math.nan)


@pytest.mark.parametrize(("measured", "told"), [(math.nan, 20.0), (50.0, 50.0)])
def test_an_engine_that_failed_before_a_round_has_the_throughput_of_its_own_steps(
    measured: float, told: float
) -> None:
    run = write_run("a", [steps(1, [0.5] * 30, rows=10)], {"status": "failed"})
    row = measured_row(run, Speed(measured, NONE, 0), RecordedSteps(run).read(), None)
    assert row["samples_per_s"] == pytest.approx(told)
