"""Which rows a split gives at its edges."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.data import Split
from workbench.errors import DataError


def fed(rows: int, batch_size: int, seed: int = 0, epoch: int = 1) -> list[list[int]]:
    split = Split([np.arange(rows)], np.arange(rows))
    return [batch.target.tolist() for batch in split.batches(batch_size, seed, epoch)]


@pytest.mark.parametrize(("rows", "batch_size"), [(12, 4), (12, 12), (13, 4), (15, 4), (1, 1)])
def test_every_complete_batch_is_fed_and_no_other(rows: int, batch_size: int) -> None:
    batches = fed(rows, batch_size)
    assert [len(batch) for batch in batches] == [batch_size] * (rows // batch_size)
    flat = [row for batch in batches for row in batch]
    assert len(set(flat)) == len(flat)
    assert set(flat) <= set(range(rows))
    assert Split([np.arange(rows)], np.arange(rows)).steps(batch_size) == len(batches)


def test_the_order_is_numpys_of_seed_and_epoch() -> None:
    """Written down, so that runs of older versions are gone on with on the same batches."""
    assert fed(10, 5, seed=3, epoch=2) == [
        row.tolist() for row in np.random.default_rng((3, 2)).permutation(10).reshape(2, 5)
    ]


@pytest.mark.parametrize("batch_size", [1, 4, 5, 10, 11])
def test_evaluation_meets_every_row_once(batch_size: int) -> None:
    split = Split([np.arange(10)], (np.arange(10), np.arange(10) * 2))
    batches = list(split.in_order(batch_size))
    assert [row for batch in batches for row in batch.inputs[0]] == list(range(10))
    assert all(len(batch.target) == batch_size for batch in batches[:-1])
    assert np.concatenate([b.further_targets[0] for b in batches]).tolist() == [*range(0, 20, 2)]


def test_refused_batches_are_named() -> None:
    rows, two = np.zeros((3, 2)), np.zeros(2)
    with pytest.raises(DataError, match=r"^Input 1 has 2 rows and the target has 3"):
        Split([rows, two], np.zeros(3))
    with pytest.raises(DataError, match=r"^Target 2 has 2 rows and target 0 has 3"):
        Split([rows], (np.zeros(3), np.zeros(3), two))
    with pytest.raises(DataError, match="first axis"):
        Split([rows], (np.zeros(3), np.float32(1)))
    assert repr(Split([rows], np.zeros(3))) == "Split(3 rows, inputs (3, 2), target (3,))"
    assert len(Split([rows], np.zeros(3))) == 3


def test_rows_are_taken_along_the_first_axis_of_every_array() -> None:
    wide = np.arange(12).reshape(4, 3)
    split = Split([wide, wide * 2], (wide * 3, wide * 5))
    found = split.batch(np.array([3, 0]))
    for array, factor in zip((*found.inputs, *found.targets), (1, 2, 3, 5), strict=True):
        np.testing.assert_array_equal(array, wide[[3, 0]] * factor)
