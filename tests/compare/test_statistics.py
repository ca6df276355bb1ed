"""Ratios and their intervals."""

import numpy as np
import pytest

from workbench.compare.statistics import largest_difference, ratio, rounds_of


def test_rounds_leave_the_warm_up_and_the_incomplete_round_out() -> None:
    seconds = np.array([9.0, 9.0, 1.0, 1.0, 2.0, 2.0, 5.0])
    samples = np.full(7, 10)
    np.testing.assert_allclose(rounds_of(seconds, samples, warmup=2, burst=2), [10.0, 5.0])
    assert len(rounds_of(seconds[:1], samples[:1], warmup=2, burst=2)) == 0


def test_the_ratio_is_the_median_over_rounds_and_its_interval_holds_it() -> None:
    random = np.random.default_rng(1)
    disturbance = random.uniform(0.2, 1.0, 40)  # meets both engines alike
    result = ratio(300 * disturbance * random.normal(1, 0.01, 40), 100 * disturbance)
    assert result.low <= result.median <= result.high
    assert result.median == pytest.approx(3.0, rel=0.01)
    assert result.high - result.low < 0.05


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        result = ratio(random.normal(2.0, 0.3, 20), np.ones(20))
        covered += result.low <= 2.0 <= result.high
    assert 0.88 <= covered / 200 <= 0.99


def test_nothing_measured_is_not_a_number() -> None:
    assert np.isnan(ratio(np.empty(0), np.empty(0))).all()
    assert np.isnan(largest_difference(np.empty(0), np.ones(3)))


def test_losses_are_compared_step_by_step() -> None:
    assert largest_difference(np.array([1.0, 2.0]), np.array([1.0, 2.5, 9.0])) == 0.5
