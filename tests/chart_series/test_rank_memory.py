"""The series of the memory of each process."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.chart_series.rank_memory import RankMemory


def add(memory: RankMemory, first: int, *sizes: list[float]) -> None:
    step = np.arange(first, first + len(sizes[0]))
    memory.add(step, tuple(1e6 * np.array(each) for each in sizes))


def test_one_process_has_none() -> None:
    memory = RankMemory()
    memory.add(np.arange(1, 5), ())
    memory.cut(2)
    assert memory.array.size == 0


def test_the_steps_at_which_all_were_looked_at_are_kept() -> None:
    memory = RankMemory()
    add(memory, 1, [np.nan, 5.0], [np.nan, 7.0])
    add(memory, 3, [6.0, 1.0], [8.0, np.nan])
    np.testing.assert_allclose(memory.array, [[2, 3], [5, 6], [7, 8]])
    memory.cut(2)
    np.testing.assert_allclose(memory.array, [[2], [5], [7]])
    add(memory, 3, [9.0], [9.5])
    np.testing.assert_allclose(memory.array, [[2, 3], [5, 9], [7, 9.5]])


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_a_long_series_is_thinned_evenly(at_once: int) -> None:
    memory = RankMemory(limit=8)
    for first in range(1, 65, at_once):
        steps = range(first, min(65, first + at_once))
        add(memory, first, [float(each) for each in steps], [0.0 for _ in steps])
    assert memory.array.shape[1] <= 8
    np.testing.assert_array_equal(memory.array[0], np.arange(1, 65, 8))
    np.testing.assert_allclose(memory.array[1], memory.array[0])


def test_another_number_of_processes_starts_a_new_series() -> None:
    memory = RankMemory()
    add(memory, 1, [1.0], [2.0])
    add(memory, 2, [1.0], [2.0], [3.0])
    np.testing.assert_allclose(memory.array, [[2], [1], [2], [3]])
