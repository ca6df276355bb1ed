"""Rows from a map-style torch Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import psutil

from workbench.data.readers.npz_file import TARGET_NAMES
from workbench.data.rows import Rows, make_rows
from workbench.errors import FROM_USER_CODE, DataError, exception_text


def read_torch_dataset(source: Any, target_dtype: str | None) -> Rows:
    """Read and stack all items of a `torch.utils.data.Dataset`.

    An item is (input, target), (input, ..., target), ((input, ...), target), or a mapping with a
    key y, target, targets, label or labels.

    Raises:
        DataError: it is an IterableDataset, is empty, needs more memory than there is, raises, or
            its items differ in shape.
    """
    from torch.utils.data import IterableDataset, TensorDataset

    if isinstance(source, IterableDataset) or not hasattr(source, "__getitem__"):
        raise DataError(
            f"{type(source).__name__} is an IterableDataset, whose length is unknown. Pass a "
            "map-style Dataset, or collect its items into arrays first."
        )
    if isinstance(source, TensorDataset) and len(source.tensors) >= 2:
        arrays = [tensor.detach().cpu().numpy() for tensor in source.tensors]
        return make_rows(arrays[:-1], arrays[-1], target_dtype)
    columns = [_stack(column) for column in zip(*_items(source), strict=True)]
    return make_rows(columns[:-1], columns[-1], target_dtype)


def _items(source: Any) -> list[list[np.ndarray]]:
    """The parts of every item, see `_parts`."""
    name = type(source).__name__
    try:
        count = len(source)
    except FROM_USER_CODE as error:
        raise DataError(
            f"{name} has no length: {exception_text(error)}. Correct its __len__, which returns "
            "the number of items."
        ) from error
    if count == 0:
        raise DataError(f"{name} is empty: its length is 0.")
    items: list[list[np.ndarray]] = []
    for index in range(count):
        try:
            items.append(_parts(source[index], index))
        except DataError:
            raise
        except FROM_USER_CODE as error:
            raise DataError(
                f"Item {index} of {name} cannot be read: {exception_text(error)}. Correct its "
                f"__getitem__, which is called with 0 to {count - 1}."
            ) from error
        if index == 0:
            _check_memory(name, count * sum(part.nbytes for part in items[0]), count)
    return items


def _check_memory(name: str, needed: int, count: int) -> None:
    free = psutil.virtual_memory().available
    if needed > free:
        raise DataError(
            f"{name} needs {needed / 1e9:,.1f} GB of memory for its {count:,} items, but "
            f"{free / 1e9:,.1f} GB are available; take fewer items, as with "
            "torch.utils.data.Subset, or a smaller dtype."
        )


def _parts(item: Any, index: int) -> list[np.ndarray]:
    """The inputs of an item, followed by its target."""
    if isinstance(item, Mapping):
        keys = [name for name in TARGET_NAMES if name in item]
        values = [value for name, value in item.items() if name not in keys]
        values += [item[name] for name in keys[:1]]
    elif isinstance(item, tuple | list) and len(item) >= 2:
        first = item[0] if isinstance(item[0], tuple | list) else item[:-1]
        values = [*first, item[-1]]
    else:
        values = []
    if len(values) < 2:
        raise DataError(
            f"Item {index} of the torch Dataset is {type(item).__name__}; an item must be "
            "(input, target) or a mapping with a target."
        )
    return [_as_array(value, index) for value in values]


def _as_array(value: Any, index: int) -> np.ndarray:
    detach = getattr(value, "detach", None)
    array = np.asarray(detach().cpu().numpy() if callable(detach) else value)
    if array.dtype.kind not in "biufUS":
        raise DataError(
            f"Item {index} of the torch Dataset contains {type(value).__name__}; it must contain "
            "tensors or numbers. For images, add a transform to tensors."
        )
    return array


def _stack(column: tuple[np.ndarray, ...]) -> np.ndarray:
    for index, array in enumerate(column):
        if array.shape != column[0].shape:
            raise DataError(
                f"Item {index} of the torch Dataset has shape {array.shape} but item 0 has "
                f"{column[0].shape}; all items must have the same shape, for example by padding."
            )
    return np.stack(column)
