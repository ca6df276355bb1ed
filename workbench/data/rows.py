"""Converts arrays to the dtypes of models, checks them, and splits them into a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.data.arguments import check_fraction
from workbench.data.dataset import Dataset, RowGroups
from workbench.data.row_source import RowSource
from workbench.data.split import Split
from workbench.errors import FROM_USER_CODE, DataError, exception_text

EXACT_IN_FLOAT32 = 2**24
"""float32 represents all integers up to this exactly."""

LARGEST_INT64 = 2**63 - 1

SCAN_BYTES = 16 << 20
"""Size of the chunks in which arrays are checked for NaN, to limit memory use for memory maps."""


class Rows(NamedTuple):
    """All rows of a source, before the split."""

    inputs: tuple[np.ndarray, ...]
    target: np.ndarray | tuple[np.ndarray, ...]
    """A tuple if there are several, one per loss."""
    classes: tuple[str, ...] | None = None
    source: RowSource | None = None
    groups: np.ndarray | None = None
    """The group of each row, text, (rows,), or None."""


def make_rows(inputs: Sequence[Any], target: Any, target_dtype: str | None = None) -> Rows:
    """Convert arrays to float32 or int64; text labels become class indices.

    Args:
        inputs: one array per model input.
        target: an array, or a tuple of numeric arrays, one per loss.
        target_dtype: "float32" or "int64" for every target; None: depends on the array's dtype.

    Raises:
        DataError: an unsupported dtype, NaN or infinity, or different lengths.
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
    """Split rows at random into a training split and a test split of `test_fraction`.

    Raises:
        DataError: the fraction is not in [0, 1), or leaves no training rows.
    """
    whole = Split(rows.inputs, rows.target)
    count = len(whole)
    test_count = held_out_count(count, test_fraction)
    order = np.random.default_rng(seed).permutation(count)
    # Sorted: rows keep their order within a split, and a memory map is read sequentially.
    test_rows, train_rows = np.sort(order[:test_count]), np.sort(order[test_count:])
    test = _part(whole, test_rows) if test_count else None
    groups = None
    if rows.groups is not None:
        groups = RowGroups(rows.groups[train_rows], rows.groups[test_rows])
    train = _part(whole, train_rows)
    return Dataset(name, train, test, rows.classes, groups=groups, source=rows.source)


def with_groups(rows: Rows, groups: Any) -> Rows:
    """Rows with the group of each.

    Args:
        rows: without groups.
        groups: (rows,), text or integers.

    Raises:
        DataError: it is not one text or integer per row.
    """
    names = _array(groups, "groups")
    if names.dtype == object:
        names = np.array([str(name) for name in names.reshape(-1)]).reshape(names.shape)
    count = len(Split(rows.inputs, rows.target))
    if names.shape != (count,):
        raise DataError(
            f"groups has shape {names.shape}, but there are {count} rows; give one group per row."
        )
    if names.dtype.kind not in "USiub":
        raise DataError(f"groups has the dtype {names.dtype}; give text or integers.")
    return rows._replace(groups=names.astype(str))


def _part(whole: Split, rows: np.ndarray) -> Split:
    batch = whole.batch(rows)
    return Split(batch.inputs, batch.targets)


def held_out_count(count: int, test_fraction: float) -> int:
    """Number of test rows of `count` rows.

    Raises:
        DataError: the fraction is not in [0, 1), or leaves no training rows.
    """
    check_fraction(test_fraction)
    test_count = round(count * test_fraction)
    if test_count >= count:
        raise DataError(
            f"test_fraction={test_fraction} of {count} rows leaves no training rows; use less."
        )
    return test_count


def first_not_finite(array: np.ndarray) -> int | None:
    """Index of the first row with NaN or infinity, or None."""
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
    raise DataError(f"{what} contains {kind} in row {row}; remove or fill such rows.")


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
    """Floating-point class indices as int64."""
    refuse_not_finite(labels, what)
    whole = (labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)
    if not whole.all():
        place = tuple(int(index) for index in np.argwhere(~whole)[0])
        raise DataError(
            f"{what} contains {labels[place]:g} in row {place[0]}, which is not an integer; omit "
            "target_dtype='int64', or round the numbers first."
        )
    return labels.astype(np.int64)


def exact_float32(array: np.ndarray, what: str) -> np.ndarray:
    """Check that different integers in `array` stay different in float32, and return it.

    Raises:
        DataError: two become equal, as timestamps in seconds and long identifiers may.
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
            f"{what} contains integers that become equal in float32, such as {one} and {other}. "
            "Subtract an offset, scale them, or drop them."
        )
    return array


def _feedable(values: Any, what: str, *, booleans: bool = False) -> np.ndarray:
    """`values` as float32 or int64; `booleans`: keep the dtype bool, for masks."""
    array = _array(values, what)
    if array.dtype.kind == "b" and booleans:
        return array
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST_INT64:
        raise DataError(
            f"{what} contains {int(array.max())}, which int64 cannot represent; renumber the "
            "values, for example with np.unique(array, return_inverse=True)."
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
            f"{what} has the unsupported dtype {array.dtype}; convert it to float32 or int64."
        )
    refuse_not_finite(array, f"{what}, as float32,")
    return array


def _array(values: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(
            f"{what} is ragged: {str(error).rstrip('.')}. All rows must have the same shape, for "
            "example by padding."
        ) from None
    except FROM_USER_CODE as error:  # an `__array__` method may raise any type
        raise DataError(
            f"{what} cannot be converted to an array: {exception_text(error)}. Pass numpy arrays."
        ) from error
    if array.ndim == 0 and array.dtype == object:
        raise DataError(f"{what} is of type {type(values).__name__}; pass an array.")
    if array.ndim == 0:
        raise DataError(
            f"The first axis of inputs and target must be the rows, but {what} is a scalar."
        )
    return array


def _refuse_lost(array: np.ndarray, narrow: np.ndarray, what: str) -> None:
    """Raise a DataError if different numbers have all become equal in float32."""
    if array.dtype.itemsize <= 4 or array.size == 0 or narrow.min() != narrow.max():
        return
    low, high = array.min(), array.max()
    if low != high:
        raise DataError(
            f"{what} contains numbers from {low:.17g} to {high:.17g}, which all become equal in "
            "float32; subtract an offset, or scale them."
        )
