"""How the distance between two sets of gradients is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.verification.agreement import gradient_rows, loss_error
from workbench.verification.entries import FEWEST, MOST, choose_entries


def arrays(**values: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(value, np.float32) for name, value in values.items()}


def test_the_error_is_relative_to_the_parameters_largest_entry() -> None:
    expected = {"w": np.array([[1.0, -4.0], [2.0, 0.0]], np.float32)}
    actual = {"w": np.array([[1.0, -4.0], [2.5, 0.25]], np.float32)}
    (row,) = gradient_rows("one", {"w": (2, 2)}, expected, actual)
    assert row.relative_error == pytest.approx(0.5 / 4)
    assert row.worst_entry == (1, 0)
    assert (row.expected, row.actual, row.compared) == (2.0, 2.5, 4)


def test_a_gradient_that_is_zero_but_for_rounding_is_measured_by_the_largest_of_all() -> None:
    expected = arrays(w=[2.0, 1.0], bias=[0.0, 1e-9])
    actual = arrays(w=[2.0, 1.0], bias=[2e-8, -1e-9])
    rows = gradient_rows("one", {"w": (2,), "bias": (2,)}, expected, actual)
    assert rows[0].relative_error == 0
    assert rows[1].relative_error == pytest.approx(2e-8 / (0.01 * 2.0))


@pytest.mark.fault
def test_a_small_gradient_that_is_wrong_shows() -> None:
    expected = arrays(w=[2.0], small=[1e-4])
    actual = arrays(w=[2.0], small=[2e-4])
    rows = gradient_rows("one", {"w": (1,), "small": (1,)}, expected, actual)
    assert rows[1].relative_error > 1e-3


@pytest.mark.parametrize("lacking", ["expected", "actual"])
def test_a_parameter_that_one_side_lacks_counts_as_zero(lacking: str) -> None:
    there = arrays(w=[1.0], other=[0.5])
    here = arrays(w=[1.0])
    sides = (here, there) if lacking == "expected" else (there, here)
    rows = {row.parameter: row for row in gradient_rows("one", {"w": (1,), "other": (1,)}, *sides)}
    # Measured by a hundredth of the largest of all, or by itself.
    assert rows["other"].relative_error == pytest.approx(50.0 if lacking == "expected" else 1.0)
    assert min(abs(rows["other"].expected), abs(rows["other"].actual)) == 0


def test_a_parameter_that_both_sides_lack_is_left_out() -> None:
    """Wherever it stands."""
    shapes = {"frozen": (3,), "w": (1,)}
    rows = gradient_rows("one", shapes, arrays(w=[1.0]), arrays(w=[1.5]))
    assert [(row.parameter, row.relative_error) for row in rows] == [("w", 0.5)]
    empty = {"none": np.zeros((0, 3), np.float32)}
    found = gradient_rows("one", {"none": (0, 3), "w": (1,)}, arrays(w=[1.0]) | empty, empty)
    assert [(row.parameter, row.actual) for row in found] == [("w", 0.0)]


def test_nan_has_an_infinite_error() -> None:
    rows = gradient_rows("one", {"w": (2,)}, arrays(w=[1.0, 2.0]), arrays(w=[1.0, math.nan]))
    assert rows[0].relative_error == math.inf
    assert rows[0].worst_entry == (1,)
    assert loss_error(1.0, math.nan) == math.inf
    assert loss_error(2.0, 2.5) == 0.25


def test_only_the_entries_that_the_reference_holds_are_compared() -> None:
    actual = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}
    expected = {"w": np.array([5.0, 1.5])}
    (row,) = gradient_rows("one", {"w": (2, 3)}, expected, actual, {"w": np.array([5, 1])})
    assert row.worst_entry == (0, 1)
    assert row.relative_error == pytest.approx(0.5 / 5)
    assert row.compared == 2


def test_entries_hold_the_largest_gradient_and_others_at_random() -> None:
    gradients = {"w": np.array([[0.0, 3.0], [-7.0, 1.0]]), "b": np.array([2.0])}
    chosen = choose_entries(gradients, seed=0)
    assert chosen["w"][0] == 2
    assert sorted(chosen["w"]) == [0, 1, 2, 3]
    assert list(chosen["b"]) == [0]
    many = choose_entries({str(i): np.ones(50) for i in range(1000)}, seed=0)
    assert {len(entries) for entries in many.values()} == {FEWEST}
    few = choose_entries({"w": np.random.default_rng(0).normal(size=100)}, seed=3)["w"]
    assert len(few) == MOST == len(set(few))
    again = choose_entries({"w": np.random.default_rng(0).normal(size=100)}, seed=3)["w"]
    assert list(few) == list(again)


def test_so_many_entries_are_taken_that_there_are_about_240() -> None:
    def each(parameters: int) -> set[int]:
        gradients = {str(place): np.ones(50) for place in range(parameters)}
        return {len(entries) for entries in choose_entries(gradients, seed=0).values()}

    assert (FEWEST, MOST) == (2, 8)
    assert [each(count) for count in (1, 30, 40, 48, 121)] == [{8}, {8}, {6}, {5}, {2}]
    assert choose_entries({}, seed=0) == {}


def test_an_entry_that_is_no_number_is_looked_at_first() -> None:
    found = choose_entries({"w": np.array([1.0, math.nan, -5.0])}, seed=0)["w"]
    assert found[0] == 1
    assert sorted(found) == [0, 1, 2]
    others = {tuple(choose_entries({"w": np.ones(100)}, seed=seed)["w"]) for seed in range(5)}
    assert len(others) == 5


def test_without_gradients_there_are_no_rows_and_no_error_of_nothing() -> None:
    assert gradient_rows("one", {"w": (2,)}, {}, {}) == []
    empty = {"w": np.zeros((0, 3), np.float32)}
    assert gradient_rows("one", {"w": (0, 3)}, empty, empty) == []
    (row,) = gradient_rows("one", {"w": (1,)}, arrays(w=[0.0]), arrays(w=[1e-9]))
    assert row.relative_error == math.inf
    assert loss_error(0.0, 0.0) == 0.0
    assert loss_error(0.0, 1e-9) == math.inf
    assert loss_error(-2.0, -1.0) == 0.5
