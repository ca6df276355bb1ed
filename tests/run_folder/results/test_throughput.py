"""Rounds of known steps, and the throughput of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.run_folder.results.throughput import (
    ROUNDS,
    round_length,
    rounds_of,
    throughput,
)
from workbench.run_folder.run_reader import NewPoints


def points(seconds: list[float], losses: list[float] | None = None, first: int = 1) -> NewPoints:
    steps = np.arange(first, first + len(seconds))
    found = np.ones(len(seconds)) if losses is None else np.array(losses, dtype=float)
    samples = np.full(len(seconds), 10)
    return NewPoints(steps, steps, found, np.array(seconds, dtype=float), samples, steps * 1.0, [])


def test_a_round_is_its_samples_over_its_seconds() -> None:
    seconds = np.array([7.0, 1.0, 3.0, 2.0, 2.0, 5.0])
    samples = np.array([1, 10, 30, 5, 3, 100])
    np.testing.assert_array_equal(rounds_of(seconds, samples, 1, 2), [10.0, 2.0])
    np.testing.assert_array_equal(rounds_of(seconds, samples, 0, 3), [41 / 11, 108 / 9])


@pytest.mark.parametrize(
    ("warmup", "length", "rounds"),
    [(1, 3, 3), (2, 3, 2), (0, 10, 1), (0, 11, 0), (9, 1, 1), (10, 1, 0), (12, 1, 0)],
)
def test_rounds_are_those_that_are_whole(warmup: int, length: int, rounds: int) -> None:
    seconds, samples = np.full(10, 0.5), np.full(10, 10)
    assert len(rounds_of(seconds, samples, warmup, length)) == rounds


@pytest.mark.parametrize("steps", [1, 2, 19, 62, 4020, 10**6])
def test_there_are_about_twenty_rounds(steps: int) -> None:
    ones = np.ones(steps)
    rounds = len(rounds_of(ones, ones, 2, round_length(steps, 2)))
    assert rounds == max(0, steps - 2) if steps < ROUNDS else ROUNDS <= rounds < 2 * ROUNDS


def test_a_disturbance_of_a_few_steps_does_not_count() -> None:
    seconds = [9.0, 9.0, *[0.5] * 200]
    undisturbed = throughput(points(seconds), 2)
    seconds[50:53] = [30.0] * 3
    assert throughput(points(seconds), 2) == undisturbed == 20.0


def test_a_stall_of_every_few_steps_belongs_to_it() -> None:
    """In a short run a twentieth of the steps is one or two of them, and most have no stall."""
    seconds = [9.0, 9.0, *[0.1, 0.1, 0.1, 0.1, 1.6] * 8]
    assert throughput(points(seconds), 2) == pytest.approx(10 * 5 / 2.0)


def test_before_the_first_whole_round_it_is_a_mean() -> None:
    seconds = [9.0, 9.0, 1.0, 3.0]
    assert throughput(points(seconds), 2) == 5.0
    assert math.isnan(throughput(points(seconds[:2]), 2))


def test_a_run_that_ended_early_has_rounds_of_the_steps_that_it_took() -> None:
    """Of 2,800 planned steps a round would be 139: two of them, each with half of a busy time."""
    seconds = [9.0, 9.0, *[0.5] * 280]
    seconds[100:160] = [5.0] * 60
    assert throughput(points(seconds), 2) == 20.0


def test_steps_that_a_damaged_record_lacks_do_not_shift_the_warm_up() -> None:
    assert throughput(points([0.5, 0.5, 0.25], first=3), 4) == 40.0
