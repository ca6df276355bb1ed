"""The order and the shape of batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from workbench.data import Batch, Split
from workbench.errors import DataError


def numbered(rows: int = 10) -> Split:
    """Rows whose input is (row, row) and whose target is the row."""
    index = np.arange(rows)
    return Split([np.stack([index, index], 1).astype(np.float32)], index.astype(np.int64))


def targets(batches: Iterator[Batch]) -> list[list[int]]:
    return [batch.target.tolist() for batch in batches]


def test_an_epoch_feeds_each_row_once_and_drops_the_incomplete_batch() -> None:
    fed = targets(numbered().batches(4, seed=0, epoch=1))
    assert [len(batch) for batch in fed] == [4, 4]
    flat = [row for batch in fed for row in batch]
    assert len(set(flat)) == 8
    assert flat != sorted(flat)
    assert numbered().steps(4) == 2


def test_inputs_stay_with_their_targets() -> None:
    for batch in numbered().batches(3, seed=5, epoch=2):
        assert np.array_equal(batch.inputs[0][:, 1], batch.target)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    split = numbered(50)
    assert targets(split.batches(5, 1, 2)) == targets(numbered(50).batches(5, 1, 2))
    orders = {str(targets(split.batches(5, s, e))) for s, e in [(1, 2), (2, 1), (1, 1), (2, 2)]}
    assert len(orders) == 4


def test_a_batch_is_the_receivers_own_and_contiguous(tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.float32).reshape(6, 2))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    split = Split([mapped], np.zeros(6, np.int64))
    for batches in (split.batches(3, 0, 1), split.in_order(4)):
        for batch in batches:
            for array in (*batch.inputs, batch.target):
                assert type(array) is np.ndarray
                assert array.flags.c_contiguous
                assert array.flags.writeable
                assert not np.shares_memory(array, mapped)


def test_evaluation_keeps_the_order_and_the_last_batch() -> None:
    assert targets(numbered(5).in_order(2)) == [[0, 1], [2, 3], [4]]


@pytest.mark.fault
def test_a_batch_larger_than_the_split_is_refused_before_the_first_step() -> None:
    with pytest.raises(DataError, match=r"batch_size=11 .* 10 rows.*at most 10"):
        numbered().batches(11, 0, 1)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("inputs", "target", "message"),
    [
        ([np.zeros((3, 2))], np.zeros(4), "3 rows and the target has 4"),
        ([np.zeros((0, 2))], np.zeros(0), "no rows"),
        ([], np.zeros(3), "at least one input"),
        ([np.float32(1)], np.zeros(3), "first axis"),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(inputs, target, message) -> None:
    with pytest.raises(DataError, match=message):
        Split(inputs, target)


@pytest.mark.fault
def test_several_targets_go_together() -> None:
    rows = np.arange(6)
    split = Split([rows[:, None]], (rows, rows * 10.0, rows[:, None] * [1, 2]))
    for batch in (*split.batches(2, seed=0, epoch=1), *split.in_order(4)):
        first, second, third = batch.targets
        assert first is batch.target
        assert np.array_equal(second, first * 10.0)
        assert np.array_equal(third[:, 1], first * 2)
        assert all(array.flags.c_contiguous and array.flags.writeable for array in batch.targets)
    with pytest.raises(DataError, match="Target 1 has 5 rows and target 0 has 6"):
        Split([rows], (rows, rows[:5]))
    with pytest.raises(DataError, match="at least one target"):
        Split([rows], ())
