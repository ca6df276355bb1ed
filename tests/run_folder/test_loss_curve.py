"""The means that a list of runs draws of a loss."""

from __future__ import annotations

import math

import pytest

from workbench.run_folder.loss_curve import MOST_POINTS, LossCurve


def curve_of(*parts: tuple[int, list[float]]) -> LossCurve:
    curve = LossCurve()
    for first_step, losses in parts:
        curve.add(first_step, losses)
    return curve


def test_so_many_steps_are_points_of_their_own_and_one_more_makes_pairs() -> None:
    assert MOST_POINTS == 60
    losses = [float(step) for step in range(1, 61)]
    curve = curve_of((1, losses))
    assert curve.points() == tuple(losses)
    curve.add(61, [61.0])
    assert curve.points() == (*(2 * place + 1.5 for place in range(30)), 61.0)
    curve.add(62, [62.0, 63.0])
    assert curve.points()[-2:] == (61.5, 63.0)


def test_unknown_and_not_finite_losses_are_left_out() -> None:
    curve = curve_of((1, [4.0, math.nan, math.inf]), (6, [2.0]), (7, []))
    assert curve.points() == pytest.approx((4.0, *[math.nan] * 4, 2.0), nan_ok=True)
    curve.add(121, [])
    assert len(curve.points()) == 6
    curve.add(1, [6.0, 5.0], all_finite=True)
    assert curve.points()[:2] == (5.0, 5.0)


def test_a_part_may_begin_and_end_within_a_mean() -> None:
    curve = curve_of((1, [0.0]), (61, [7.0]))
    curve.add(2, [2.0, 10.0, 20.0, 5.0])
    assert curve.points()[:3] == (1.0, 15.0, 5.0)
    curve.add(6, [15.0])
    assert curve.points()[2] == 10.0


@pytest.mark.parametrize(("step", "left"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (61, 31)])
def test_repeated_steps_replace_the_old_ones(step: int, left: int) -> None:
    """A mean stays that holds one that is kept."""
    curve = curve_of((1, [1.0] * 61))
    curve.forget_after(step)
    assert len(curve.points()) == left
    curve.add(2 * left + 1, [3.0, 5.0])
    assert curve.points() == (*[1.0] * left, 4.0)


def test_steps_that_were_not_read_are_no_gap() -> None:
    assert curve_of((1, [4.0]), (5, [2.0])).points() == (4.0, 3.5, 3.0, 2.5, 2.0)
    assert math.isnan(curve_of((3, [2.0])).points()[0])
