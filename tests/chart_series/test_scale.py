"""When a chart needs a logarithmic axis."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.chart_series import LOG_SPREAD, loss_span
from workbench.chart_series.scale import explosion, hidden_rise


@pytest.mark.parametrize(
    ("first", "tests", "ratio"),
    [
        (2.0, [0.5, 0.1, 0.05, 0.055], 1.0),
        (2.0, [0.5, 0.1, 0.05, 0.07], 40.0),
        (2.0, [0.5, 0.1, 0.05, 0.07, 0.04], 50.0),
        (2.0, [0.5, np.nan, 0.05, 0.0, 0.07], 40.0),
        (np.nan, [0.05, 0.07], 1.0),
        (2.0, [], 1.0),
        (2.0, [np.nan], 1.0),
    ],
)
def test_a_test_loss_that_rises_far_below_the_first_loss_is_found(
    first: float, tests: list[float], ratio: float
) -> None:
    assert hidden_rise(first, np.array(tests)) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("losses", "ratio"),
    [
        ([2.0, 3.0, 2e30], 1e30),
        ([2.0, 2e30, np.nan], 1e30),
        ([2.0, 1000.0], 500.0),
        ([2.0, 90.0], 1.0),
        ([2.0, np.inf], 1.0),
        ([np.nan, 1e9], 1.0),
        ([np.nan], 1.0),
        ([0.0, 1e9], 1.0),
        ([-1.0, 1e9], 1.0),
    ],
)
def test_a_loss_that_explodes_is_found(losses: list[float], ratio: float) -> None:
    assert explosion(np.array(losses)) == pytest.approx(ratio)


def test_a_loss_spans_what_is_hidden_on_a_linear_axis() -> None:
    none = np.empty(0)
    assert loss_span(none, none) == 1.0
    assert loss_span(np.array([2.0, 2e30]), none) == pytest.approx(1e30)
    assert loss_span(np.array([2.0, 0.1]), np.array([0.05, 0.07])) == pytest.approx(40.0)


def test_the_axis_changes_once() -> None:
    tests = np.abs(np.random.default_rng(0).normal(size=200)) / np.arange(1, 201)
    found = [hidden_rise(2.0, tests[:count]) > LOG_SPREAD for count in range(200)]
    assert found == sorted(found)
