"""From whatever holds rows to checked arrays, and from arrays to a dataset with two splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.data.arguments import check_fraction
from workbench.data.dataset import Dataset
from workbench.data.split import Split
from workbench.errors import DataError

EXACT_IN_FLOAT32 = 2**24
"""Whole numbers up to this are all float32."""

LARGEST_INT64 = 2**63 - 1

SCAN_BYTES = 16 << 20
"""NaN is looked for in pieces of about this size, so that a memory map is never read whole."""


class Rows(NamedTuple):
    """Every row of a source, before it is split."""

    inputs: tuple[np.ndarray, ...]
    target: np.ndarray | tuple[np.ndarray, ...]
    """A tuple where there are several, one a loss."""
    classes: tuple[str, ...] | None = None


def make_rows(inputs: Sequence[Any], target: Any, target_dtype: str | None = None) -> Rows:
    """Arrays as models take them: float32 or int64; text labels become class numbers.

    Args:
        inputs: one array a model input.
        target: an array, or a tuple of arrays, one a loss, of which none is text.
        target_dtype: "float32" or "int64" of every target; None: as their own dtypes imply.

    Raises:
        DataError: a dtype that cannot be fed, NaN or infinity, or lengths that differ.
    """
    arrays = tuple(
        _feedable(array, f"input {index}", booleans=True) for index, array in enumerate(inputs)
    )
    if target_dtype not in (None, "float32", "int64"):
        raise DataError(f"target_dtype={target_dtype!r}: choose 'float32' or 'int64'.")
    if isinstance(target, tuple):
        targets = tuple(
            _as_target(_array(one, f"target {index}"), target_dtype, f"target {index}")
            for index, one in enumerate(target)
        )
        split = Split(arrays, targets)
        return Rows(split.inputs, split.targets)
    labels = _array(target, "the target")
    classes: tuple[str, ...] | None = None
    if labels.dtype.kind in "US":
        names, labels = np.unique(labels, return_inverse=True)
        classes = tuple(str(name) for name in names)
    split = Split(arrays, _as_target(labels, target_dtype, "the target"))
    return Rows(split.inputs, split.target, classes)


def split_rows(rows: Rows, name: str, test_fraction: float, seed: int) -> Dataset:
    """A dataset whose test split is `test_fraction` of the rows, drawn by `seed`.

    Raises:
        DataError: the fraction is not in [0, 1), or leaves nothing to train on.
    """
    whole = Split(rows.inputs, rows.target)
    count = len(whole)
    test_count = held_out_count(count, test_fraction)
    order = np.random.default_rng(seed).permutation(count)
    # Sorted: the rows keep their order within a split, and a memory map is read forwards.
    test_rows, train_rows = np.sort(order[:test_count]), np.sort(order[test_count:])
    test = _part(whole, test_rows) if test_count else None
    return Dataset(name, _part(whole, train_rows), test, rows.classes)


def _part(whole: Split, rows: np.ndarray) -> Split:
    batch = whole.batch(rows)
    return Split(batch.inputs, batch.targets)


def held_out_count(count: int, test_fraction: float) -> int:
    """How many of `count` rows are for testing.

    Raises:
        DataError: the fraction is not in [0, 1), or leaves nothing to train on.
    """
    check_fraction(test_fraction)
    test_count = round(count * test_fraction)
    if test_count >= count:
        raise DataError(
            f"test_fraction={test_fraction} of {count} rows leaves none to train on; choose less."
        )
    return test_count


def first_not_finite(array: np.ndarray) -> int | None:
    """Index of the first row that holds NaN or infinity, or None."""
    if array.dtype.kind != "f" or array.size == 0:
        return None
    step = max(1, SCAN_BYTES // max(1, array[0].nbytes))
    for start in range(0, len(array), step):
        piece = array[start : start + step]
        finite = np.isfinite(piece)
        if not finite.all():
            bad = ~finite.reshape(len(piece), -1).all(axis=1)
            return start + int(np.argmax(bad))
    return None


def refuse_not_finite(array: np.ndarray, what: str) -> None:
    """Raise a DataError that names the first row of `array` with NaN or infinity, if any."""
    row = first_not_finite(array)
    if row is None:
        return
    values = array[row].reshape(-1) if array.ndim > 1 else array[row : row + 1]
    kind = "NaN" if np.isnan(values).any() else "infinity"
    raise DataError(f"{what} holds {kind} in row {row}; remove or fill such rows before training.")


def _as_target(labels: np.ndarray, dtype: str | None, what: str) -> np.ndarray:
    if labels.dtype.kind in "biuf":
        if dtype == "int64" and labels.dtype.kind == "f":
            labels = _whole(labels, what)
        elif dtype == "float32" and labels.dtype.kind in "iu":
            labels = exact_float32(labels, what).astype(np.float32)
        elif dtype == "float32" and labels.dtype.kind == "b":
            labels = labels.astype(np.float32)
    return _feedable(labels, what)


def _whole(labels: np.ndarray, what: str) -> np.ndarray:
    """Floating class numbers as int64."""
    refuse_not_finite(labels, what)
    whole = (labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)
    if not whole.all():
        place = tuple(int(index) for index in np.argwhere(~whole)[0])
        raise DataError(
            f"{what} holds {labels[place]:g} in row {place[0]}, which is no int64; leave out "
            "target_dtype='int64', or round the numbers first."
        )
    return labels.astype(np.int64)


def exact_float32(array: np.ndarray, what: str) -> np.ndarray:
    """`array` itself, unless float32 cannot tell apart whole numbers in it.

    Raises:
        DataError: two that differ become one, as times in seconds and long identifiers do.
    """
    if array.dtype.kind not in "iu" or array.size == 0:
        return array
    low, high = int(array.min()), int(array.max())
    if max(abs(low), abs(high)) <= EXACT_IN_FLOAT32:
        return array
    values = np.unique(array)
    narrow = values.astype(np.float32)
    same = np.flatnonzero(narrow[1:] == narrow[:-1])
    if len(same):
        one, other = int(values[same[0]]), int(values[same[0] + 1])
        raise DataError(
            f"{what} holds whole numbers that float32 cannot tell apart, such as {one} and "
            f"{other}. Subtract what they have in common, scale them, or leave them out."
        )
    return array


def _feedable(values: Any, what: str, *, booleans: bool = False) -> np.ndarray:
    """`values` as float32 or int64; with `booleans`, those stay so, for masks."""
    array = _array(values, what)
    if array.dtype.kind == "b" and booleans:
        return array
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST_INT64:
        raise DataError(
            f"{what} holds {int(array.max())}, more than int64 can ({LARGEST_INT64}); number the "
            "values anew, for instance with np.unique(array, return_inverse=True)."
        )
    if array.dtype.kind in "biu":
        array = array.astype(np.int64, copy=False)
    elif array.dtype.kind == "f":
        refuse_not_finite(array, what)
        with np.errstate(over="ignore", under="ignore"):
            narrow = array.astype(np.float32, copy=False)
        _refuse_lost(array, narrow, what)
        array = narrow
    else:
        raise DataError(
            f"{what} has dtype {array.dtype}, which cannot be fed to a model; "
            "give numbers (float32 or int64)."
        )
    refuse_not_finite(array, f"{what}, as float32,")
    return array


def _array(values: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(
            f"{what} is ragged: {error}. Give rows of one shape, for instance by padding."
        ) from None
    except Exception as error:  # whatever a foreign __array__ raises
        raise DataError(f"{what} cannot be made an array: {error}. Give numpy arrays.") from error
    if array.ndim == 0:
        raise DataError(
            f"Inputs and target need a first axis that counts the rows; {what} is a single value."
        )
    return array


def _refuse_lost(array: np.ndarray, narrow: np.ndarray, what: str) -> None:
    """Raise a DataError if numbers that differ have all become one in float32."""
    if array.dtype.itemsize <= 4 or array.size == 0 or narrow.min() != narrow.max():
        return
    low, high = array.min(), array.max()
    if low != high:
        raise DataError(
            f"{what} holds numbers from {low:.17g} to {high:.17g}, all the same in float32; "
            "subtract what they have in common, or scale them."
        )
