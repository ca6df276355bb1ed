"""A preview of a dataset: some rows as pictures, text or a table, classes and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.controller.model.row_display import (
    COLUMNS,
    as_cells,
    as_number,
    as_pictures,
    as_symbols,
    as_text,
    class_name,
    is_text,
)
from workbench.data import Dataset
from workbench.data.row_source import RowSource

ROWS = 12
"""Number of rows shown, evenly over the split: rows may be sorted by class."""
TEXTS = 6
"""Number of rows of text, which takes more room."""
MOST_NUMBERS = 4
"""Of a target of several, in its row."""
RANGED_ROWS = 10_000
"""Number of rows for the ranges; reading all of a large file would take too long."""
MOST_COUNTED = 50
"""Largest number of classes whose rows are counted: more would be unreadable."""


class Picture(NamedTuple):
    """One row as a picture."""

    pixels: np.ndarray
    """(height, width) or (height, width, 3) uint8."""
    label: str


class Text(NamedTuple):
    """One row as text."""

    text: str
    label: str
    """Its class; empty if every position has a target."""
    target: str
    """The targets of the positions, as text; "·" where there is none. Empty with a class."""


class DataPreview(NamedTuple):
    """Preview of a dataset."""

    name: str
    facts: tuple[tuple[str, str], ...]
    """Pairs of a label and a text."""
    counts: tuple[tuple[str, int], ...] = ()
    """Training rows of each class, by its name."""
    pictures: tuple[Picture, ...] = ()
    texts: tuple[Text, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """The table; empty where there are pictures or texts."""
    ranges: tuple[str, ...] = ()
    """Range of each column of the table."""
    train_rows: int | None = None
    """Number of training rows; None where that is not known."""


def data_preview(data: Dataset) -> DataPreview:
    """Preview a dataset; reads some of its rows and the labels."""
    train = data.train
    target = train.target
    test = f", {len(data.test):,} to test" if data.test is not None else ", none to test"
    facts = [("Rows", f"{len(train):,} to train{test}")]
    for index, array in enumerate(train.inputs):
        name = "Input" if len(train.inputs) == 1 else f"Input {index}"
        facts.append((name, _described(array, data.vocabulary, "tokens")))
    counts = _counts(target, data.classes)
    # A network may have outputs for classes that are not among these rows.
    unseen = bool(counts) and data.classes is not None and len(counts) < len(data.classes)
    occurring = f"{len(counts):,} of " if unseen else ""
    facts.append(("Target", _described(target, data.classes, "classes", occurring)))
    if len(train):
        few = len(train) <= RANGED_ROWS
        facts.append(("Ranges", f"of the {'' if few else f'first {RANGED_ROWS:,} '}training rows"))
    if data.groups is not None:
        facts.append(("Groups", f"{len(np.unique(data.groups.train)):,}, one client each"))
    preview = DataPreview(data.name, tuple(facts), counts, train_rows=len(train))
    some = np.unique(np.linspace(0, len(train) - 1, ROWS).astype(np.int64))
    labels = [_label(value, data.classes) for value in target[some]]
    pictures = () if data.columns else as_pictures(train.inputs[0][some])
    if pictures:
        shown = tuple(map(Picture, pictures, labels))
        return preview._replace(pictures=shown)
    if data.vocabulary is not None and is_text(np.asarray(train.inputs[0][0]), data.vocabulary):
        return preview._replace(texts=_texts(data, some[:: ROWS // TEXTS]))
    told = [label or _numbers(row) for label, row in zip(labels, target[some], strict=True)]
    return _with_table(preview, train.inputs, some, told, data.source)


def _described(
    array: np.ndarray, names: Sequence[str] | None, what: str, occurring: str = ""
) -> str:
    """Shape of a row, dtype and range; for integers with names, their number after `occurring`."""
    sizes = array.shape[1:]
    shape = " × ".join(str(size) for size in sizes)  # noqa: RUF001
    if len(sizes) < 2:
        shape = f"{shape} numbers" if sizes and sizes[0] != 1 else "one number"
    some = np.asarray(array[:RANGED_ROWS])
    if not some.size:
        return f"{shape}, {array.dtype}"
    found = f"{shape}, {array.dtype}, {some.min():.4g} to {some.max():.4g}"
    if not names or array.dtype != np.int64:
        return found
    return f"{found}; {occurring}{len(names):,} {what}"


def _as_classes(target: np.ndarray, classes: Sequence[str] | None) -> np.ndarray | None:
    """One class per row, int64; None for other targets."""
    if target.ndim == 2 and target.shape[1] == 1 and classes is not None:
        target = target[:, 0]  # one logit, whose target is 0 or 1 as float32
    if target.ndim != 1 or (target.dtype != np.int64 and classes is None):
        return None
    return np.asarray(target).astype(np.int64)


def _counts(target: np.ndarray, classes: Sequence[str] | None) -> tuple[tuple[str, int], ...]:
    numbers = _as_classes(target, classes)
    if numbers is None:
        return ()
    found, counts = np.unique(numbers, return_counts=True)
    if len(found) > MOST_COUNTED or found.min() < 0:
        return ()
    return tuple(
        (class_name(value, classes), int(count)) for value, count in zip(found, counts, strict=True)
    )


def _label(value: Any, classes: Sequence[str] | None) -> str:
    """The target of one row; empty if it has several numbers."""
    if np.size(value) != 1:
        return ""
    number = np.asarray(value).reshape(()).item()
    if classes is not None or isinstance(number, int):
        return class_name(number, classes)
    return as_number(number)


def _numbers(target: np.ndarray) -> str:
    """The first of the several numbers of a target."""
    numbers = [as_number(value) for value in np.ravel(target)[:MOST_NUMBERS].tolist()]
    return ", ".join(numbers) + (" …" if np.size(target) > MOST_NUMBERS else "")


def _texts(data: Dataset, rows: np.ndarray) -> tuple[Text, ...]:
    vocabulary = data.vocabulary or ()
    shown, targets = data.train.inputs[0][rows], data.train.target[rows]
    by_position = data.classes is not None and np.shape(targets) == np.shape(shown)
    return tuple(
        Text(
            as_text(np.asarray(row), vocabulary),
            _label(wanted, data.classes),
            "".join(as_symbols(np.asarray(wanted), data.classes or ())) if by_position else "",
        )
        for row, wanted in zip(shown, targets, strict=True)
    )


def _with_table(
    preview: DataPreview,
    inputs: Sequence[np.ndarray],
    rows: np.ndarray,
    labels: Sequence[str],
    source: RowSource | None,
) -> DataPreview:
    cells = [as_cells([array[row] for array in inputs]) for row in rows]
    ranged = [np.asarray(array[:RANGED_ROWS]) for array in inputs]
    flat = [each.reshape(len(each), -1)[:, :COLUMNS] for each in ranged]
    columns = [column for array in flat for column in array.T][:COLUMNS]
    ranges = [f"{as_number(one.min().item())} to {as_number(one.max().item())}" for one in columns]
    names = () if source is None else source.columns
    more = ["…"] if sum(map(_size, inputs)) > len(columns) else []
    return preview._replace(
        columns=(
            *(names[:COLUMNS] or map(str, range(len(columns)))),
            *more,
            f"{source.target} (target)" if source is not None and names else "target",
        ),
        rows=tuple((*row, label) for row, label in zip(cells, labels, strict=True)),
        ranges=(*ranges, *["" for _ in more], ""),
    )


def _size(array: np.ndarray) -> int:
    """Values of a row."""
    return int(np.prod(array.shape[1:], dtype=int))
