"""How long work still takes, with a clock that is set by hand."""

from __future__ import annotations

import pytest

from workbench.controller.jobs.remaining_time import Pace


def test_the_time_left_follows_the_pace_of_late() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    assert pace.left_s(0.0) == -1
    now += 0.5
    assert pace.left_s(0.05) == -1
    now += 3.5
    assert pace.left_s(0.2) == pytest.approx(16.0)
    for _ in range(30):  # ten times slower from here on: after a while nothing else counts
        now += 1.0
        left = pace.left_s(0.2 + 0.01 * (now - 104.0))
    assert left == pytest.approx((1 - 0.5) / 0.01)


def test_slow_first_steps_do_not_lengthen_the_time_left() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    share = 0.0
    for rate in [0.001] * 8 + [0.03] * 6:
        left = pace.left_s(share)
        now, share = now + 1.0, share + rate
    left = pace.left_s(share)
    assert left == pytest.approx((1 - share) / 0.03, rel=0.2), "a mean would say twice as long"


def test_a_pause_restarts_the_estimate_and_no_progress_has_none() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    pace.left_s(0.1)
    now = 100.0
    assert pace.left_s(0.2) == -1
    now = 102.0
    assert pace.left_s(0.2) == -1


def test_the_first_steps_of_a_run_which_are_slow_tell_nothing() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    pace.left_s(0.0)
    now += 4.0
    assert pace.left_s(0.01) == -1
    now += 6.5
    assert pace.left_s(0.04) == pytest.approx(10.5 * 0.96 / 0.04)
