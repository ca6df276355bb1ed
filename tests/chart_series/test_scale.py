"""When a chart needs a logarithmic axis."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.chart_series import LOG_SPREAD, explosion, hidden_rise


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
    ("first", "highest", "ratio"),
    [
        (2.0, 2e30, 1e30),
        (2.0, 1000.0, 1.0),
        (2.0, np.nan, 1.0),
        (np.nan, 1e9, 1.0),
        (0.0, 1e9, 1.0),
        (-1.0, 1e9, 1.0),
    ],
)
def test_a_loss_that_explodes_is_found(first: float, highest: float, ratio: float) -> None:
    assert explosion(first, highest) == pytest.approx(ratio)


def test_the_axis_changes_once() -> None:
    tests = np.abs(np.random.default_rng(0).normal(size=200)) / np.arange(1, 201)
    found = [hidden_rise(2.0, tests[:count]) > LOG_SPREAD for count in range(200)]
    assert found == sorted(found)
