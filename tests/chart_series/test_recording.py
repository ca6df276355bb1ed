"""The recorded series of one run: values, windows, incidents and smoothing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from workbench.chart_series import Recording, smoothed, spread, trailing_rate
from workbench.chart_series.blocks import LAST, SECONDS, STEP
from workbench.chart_series.smoothing import WarmUp


def recording(losses: np.ndarray, limit: int = 1 << 20) -> Recording:
    """Steps of 0.5 s and 8 samples."""
    found = Recording(limit)
    steps = len(losses)
    found.add(
        np.arange(1, steps + 1),
        np.full(steps, 0.5),
        np.full(steps, 8),
        losses,
        np.full(steps, 2e6),
    )
    return found


def test_a_window_has_the_steps_asked_for_and_one_more_at_each_side() -> None:
    one = recording(np.arange(1.0, 1001.0))
    stride, start, blocks = one.window(100, 103, 50)
    assert (stride, start) == (1, 98)
    assert blocks[STEP].tolist() == [99, 100, 101, 102, 103]
    stride, start, blocks = one.window(0, 1000, 50)
    assert stride == 32
    assert blocks[STEP, -1] == 1000
    assert one.totals_before(32, 2) == (32.0, 512.0)


def test_a_window_of_steps_that_are_forgotten_is_of_blocks() -> None:
    one = recording(np.arange(1.0, 5001.0), limit=256)
    stride, start, blocks = one.window(3000, 3200, 500)
    assert stride == 16
    assert blocks[STEP, 0] == (start + 1) * 16
    assert blocks[STEP, 0] <= 3000
    assert blocks[STEP, -1] >= 3200


def test_values_at_a_step_are_those_of_the_record() -> None:
    one = recording(np.arange(1.0, 101.0))
    there = one.at(40)
    assert (there["step"], there["loss"], there["seconds"]) == (40, 40.0, 20.0)
    assert there["samples_per_s"] == 16.0
    assert there["memory_mb"] == 2.0
    assert one.at(4000)["step"] == 100
    assert one.at(0)["step"] == 0
    assert math.isnan(Recording().at(3)["loss"])


def test_the_best_loss_is_found_again_after_going_back() -> None:
    one = recording(np.array([3.0, 2.0, 1.0, 5.0]))
    assert one.best_loss == (1.0, 3)
    assert one.cut(2)
    assert one.best_loss == (2.0, 2)
    assert one.last_loss == (2.0, 2)
    assert not one.cut(2)
    one.add(np.array([3]), np.array([0.5]), np.array([8]), np.array([9.0]), np.array([np.nan]))
    assert one.blocks(1)[SECONDS].tolist() == [0.5, 1.0, 1.5]
    assert one.blocks(1)[LAST].tolist() == [3.0, 2.0, 9.0]


def test_losses_that_are_not_finite_are_pointed_at() -> None:
    losses = np.ones(50)
    losses[[20, 30, 31]] = np.nan
    [incident] = recording(losses).incidents
    assert (incident.kind, incident.step) == ("not_finite", 21)
    assert incident.text == "loss not finite at step 21, and 2 more"


@pytest.mark.parametrize("pieces", [1, 7, 200])
def test_divergence_is_found_where_the_mean_is_high_for_any_grouping_of_steps(
    pieces: int,
) -> None:
    losses = np.ones(200)
    losses[50] = 15.0  # one bad batch: the mean of twenty is 1.7
    losses[120:] = 9.0
    one = Recording()
    for part in np.array_split(np.arange(200), pieces):
        count = len(part)
        one.add(part + 1, np.ones(count), np.ones(count), losses[part], np.full(count, 1.0))
    [incident] = one.incidents
    assert incident.kind == "diverged"
    assert incident.step == 121, "the first high one"


@pytest.mark.parametrize(("batch", "steps"), [(32, [3]), (16, [3]), (8, [])])
def test_a_loss_that_rises_in_its_first_steps_diverges_from_there(
    batch: int, steps: list[int]
) -> None:
    """The first ones are no measure of it then; of a small batch the first loss is none either."""
    losses = np.array([2.3, 4.0, 1389.0, 700.0, 300.0, *np.full(95, 2.9)])
    one = Recording()
    ones = np.ones(100)
    one.add(np.arange(1, 101), ones, batch * ones, losses, ones)
    assert [incident.step for incident in one.incidents] == steps
    assert one.cut(90)
    assert [incident.step for incident in one.incidents] == steps


def test_a_long_run_that_is_resumed_is_measured_by_its_own_first_losses() -> None:
    """Not by those of its last steps, which are far lower."""
    count = 100_000
    losses = np.concatenate([np.linspace(6.0, 1e-5, count - 20_000), np.full(20_000, 1e-5)])
    one = Recording(limit=256)
    ones = np.ones(count)
    one.add(np.arange(1, count + 1), ones, 32 * ones, losses, ones)
    best = one.best_loss
    assert one.cut(count - 100)
    assert one.best_loss == best, "the lowest is before"
    rest = np.ones(200)
    one.add(np.arange(count - 99, count + 101), rest, 32 * rest, np.full(200, 1e-3), rest)
    assert one.incidents == [], "a hundred times the last losses, and far below the first"
    assert one.cut(count // 2), "before the steps that are kept one by one"
    assert one.incidents == []


@pytest.mark.parametrize(
    ("batch", "end", "kinds"), [(32, 2.35, ["leap"]), (32, 1.9, []), (8, 2.35, [])]
)
def test_a_loss_that_leaps_and_learns_nothing_afterwards_is_pointed_at(
    batch: int, end: float, kinds: list[str]
) -> None:
    """As of SGD with a rate of 10, which the mean of no twenty steps shows."""
    losses = np.array([2.32, 3.33, 15.67, 10.57, 15.61, 3.8, 4.4, 3.9, 3.5, 3.7, *np.full(90, end)])
    one, ones = Recording(), np.ones(10)
    for first in range(0, 100, 10):
        part = losses[first : first + 10]
        one.add(np.arange(first + 1, first + 11), ones, batch * ones, part, ones)
        if first < 20:
            assert one.incidents == [], "it may still recover"
    assert [incident.kind for incident in one.incidents] == kinds
    assert [incident.step for incident in one.incidents] == [3] * len(kinds)


def test_a_loss_that_falls_has_no_incident() -> None:
    assert recording(np.geomspace(3, 1e-3, 500)).incidents == []


@pytest.mark.parametrize("seed", range(40))
def test_the_loss_of_a_trained_model_has_no_incident(seed: int) -> None:
    """Its batches differ by more than ten times; the first may be one of the lowest."""
    losses = 0.02 * np.exp(np.random.default_rng(seed).normal(0.0, 0.8, 400))
    losses[0] = np.quantile(losses, 0.05)
    one, ones = Recording(), np.ones(400)
    one.add(np.arange(1, 401), ones, 32 * ones, losses, ones)
    assert one.incidents == []


@pytest.mark.parametrize("first", [0.0, 4e-8, 0.0013])
def test_a_model_that_is_trained_further_at_a_higher_rate_has_no_incident(first: float) -> None:
    losses = np.array([first, 0.6, 0.0018, *np.linspace(0.3, 0.01, 97)])
    one, ones = Recording(), np.ones(100)
    one.add(np.arange(1, 101), ones, 32 * ones, losses, ones)
    assert one.incidents == []


def test_a_loss_that_explodes_and_stays_rough_is_pointed_at() -> None:
    """As of SGD with a rate of 100: some of its losses are low again."""
    rough = 5.0 * np.exp(np.random.default_rng(0).normal(0.0, 0.5, 57))
    rough[[10, 30, 40]] = 0.5
    losses = np.array([0.7, 47.0, 1.9e9, *rough])
    one, ones = Recording(), np.ones(60)
    one.add(np.arange(1, 61), ones, 32 * ones, losses, ones)
    assert [(incident.kind, incident.step) for incident in one.incidents] == [("leap", 2)]


def test_smoothing_is_the_mean_of_the_last_steps() -> None:
    step = np.array([1.0, 2.0, 3.0, 7.0])
    values = np.array([1.0, 5.0, np.nan, 8.0])
    # The last point stands for the steps since the one before it.
    expected = [1.0, 3.0, 3.0, (5.0 + 4 * 8.0) / 5]
    np.testing.assert_allclose(smoothed(step, values, 6.0), expected, rtol=1e-12)
    assert smoothed(step[:1], values[:1], 6.0).tolist() == [1.0]
    assert np.isnan(smoothed(step[:2], np.array([np.nan, np.inf]), 6.0)).all()
    assert smoothed(np.empty(0), np.empty(0), 6.0).tolist() == []
    for unchanged in (0, 1):
        np.testing.assert_array_equal(smoothed(step, values, unchanged), values)


def test_smoothing_is_the_rolling_mean_of_pandas() -> None:
    values = np.random.default_rng(0).standard_normal(100)
    values[3] = 1e30  # a leap, which later means forget
    expected = pd.Series(values).rolling(20, min_periods=1).mean().to_numpy(copy=True)
    expected[23:] = [values[at - 19 : at + 1].mean() for at in range(23, 100)]
    np.testing.assert_allclose(smoothed(np.arange(1.0, 101.0), values, 20), expected, rtol=1e-9)


def test_a_trailing_rate_is_samples_over_seconds_of_the_last_steps_together() -> None:
    step = np.arange(1.0, 5.0)
    rate = trailing_rate(step, np.array([1.0, 4.0, 5.0, 6.0]), 32 * step, 2)
    np.testing.assert_allclose(rate, [32, 16, 64 / 4, 32])


def test_the_warm_up_is_no_part_of_the_rate_of_later_steps() -> None:
    """A run of few steps would seem slower than the throughput that it has, which is without it."""
    step, seconds = np.arange(1.0, 6.0), np.array([8.0, 10.0, 11.0, 12.0, 13.0])
    rate = trailing_rate(step, seconds, 32 * step, 10, WarmUp(2, 10.0, 64.0))
    np.testing.assert_allclose(rate, [4, 6.4, 32, 32, 32])
    one = Recording()
    one.add(step, np.diff(seconds, prepend=0.0), np.full(5, 32.0), *np.ones((2, 5)), warmup_steps=2)
    assert one.warm_up == (2, 10.0, 64.0)
    np.testing.assert_allclose([one.at(each)["samples_per_s"] for each in range(1, 6)], rate)
    one.cut(1)
    assert one.warm_up == WarmUp()


def test_at_a_step_before_which_some_were_removed_the_rate_is_of_those_that_are_kept() -> None:
    """Not of the whole run, whose first half was slow."""
    seconds = np.repeat([1.0, 0.01], 2500)
    one = Recording(limit=256)
    ones = np.ones(5000)
    one.add(np.arange(1.0, 5001.0), seconds, 32 * ones, ones, ones)
    oldest = next(step for step in range(4000, 5001) if one.at(step)["step"])
    assert one.at(oldest + 20)["samples_per_s"] == pytest.approx(3200)


@pytest.mark.parametrize("stride", [1, 2, 16, 64])
def test_nor_of_means_over_many_steps_of_which_none_ends_with_it(stride: int) -> None:
    seconds = np.array([6.0] * 5 + [0.01] * 3000)
    one = Recording()
    for part in np.split(np.arange(len(seconds)), [3, 4, 700]):  # as they come
        ones = np.ones(len(part))
        one.add(part + 1.0, seconds[part], 32 * ones, ones, ones, warmup_steps=5)
    step, total, samples = one.blocks(stride)[:3]
    rate = trailing_rate(step, total, samples, one.rate_window, one.warm_up)
    np.testing.assert_allclose(rate[step > 5], 3200, rtol=1e-6)


def test_the_spread_is_that_of_typical_values() -> None:
    low, high = np.array([1.0, 1.0, 50.0]), np.array([300.0, np.nan, 300.0])
    assert spread([low, high]) == 300.0
    assert spread([low]) == 1.0
    assert spread([low, np.zeros(3)]) == 1.0
