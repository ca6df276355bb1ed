"""Rows from a .csv file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data.readers.csv_lines import cell, check_lines
from workbench.data.row_source import RowSource
from workbench.data.rows import Rows, exact_float32, make_rows, with_groups
from workbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

GROUPED = re.compile(r"\s*[-+]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?\s*")
"""A number with separators between its thousands."""


def read_csv(
    path: Path, target: str | None, target_dtype: str | None, groups: str | None = None
) -> Rows:
    """Read one row per line: inputs (rows, columns) float32, of all columns but the target.

    A target of text or integers becomes classes, (rows,) int64; other numbers (rows, 1) float32,
    as does target_dtype="float32".

    Args:
        path: a comma-separated file in UTF-8 with a header line.
        target: name of the target column.
        target_dtype: "float32" for integers that are quantities, not classes.
        groups: name of the column with the group of each row, which is no input; None: there is
            none.

    Raises:
        DataError: the file is corrupt or empty, lacks the column, has lines of different lengths,
            or has empty or non-numeric cells.
    """
    import pandas as pd

    columns, rows = check_lines(path)
    if target is None:
        raise DataError(
            f"target is missing: give the name of a column of {path}: {', '.join(columns)}."
        )
    if target not in columns:
        raise DataError(f"{path} has no column {target!r}. {nearest(target, columns)}")
    if groups is not None and groups not in columns:
        raise DataError(f"{path} has no column groups={groups!r}. {nearest(groups, columns)}")
    if groups == target:
        raise DataError(f"groups={groups!r} is the target of {path}: give another column.")
    if not set(columns) - {target, groups}:
        raise DataError(f"{path} has no columns other than {_named(target, groups)}.")
    if not rows:
        raise DataError(f"{path} is empty: it has a header line and no rows.")
    try:
        # low_memory=False: otherwise the dtype is inferred for each chunk separately.
        table = pd.read_csv(
            path, header=0, names=columns, index_col=False, encoding="utf-8-sig", low_memory=False
        )
    except (ValueError, OSError, MemoryError) as error:
        raise DataError(f"{path} is not a readable .csv file: {error}.") from None
    if len(table) != rows:
        raise DataError(
            f"{path} is not a readable .csv file: its quoting is ambiguous ({rows} or {len(table)} "
            "rows). Save it again with quotes inside values doubled."
        )
    _refuse_empty_cells(path, table)
    features = table.drop(columns=[target] if groups is None else [target, groups])
    _refuse_text(path, table, features)
    for name, column in features.items():
        exact_float32(column.to_numpy(), f"Column {name!r} of {path}")
    labels = table[target]
    values = labels.to_numpy() if _is_number(labels) else _names(path, table, target)
    if values.dtype.kind == "f" or target_dtype == "float32":
        values = values.reshape(-1, 1)
    made = make_rows([features.to_numpy(dtype=np.float64)], values, target_dtype)
    names = tuple(map(str, features.columns))
    source = RowSource(str(path.absolute()), target, groups or "", names)
    made = made._replace(source=source)
    return made if groups is None else with_groups(made, table[groups].astype(str).to_numpy())


def _named(target: str, groups: str | None) -> str:
    return f"the target {target!r}" + ("" if groups is None else f" and groups={groups!r}")


def _refuse_text(path: Path, table: pd.DataFrame, features: pd.DataFrame) -> None:
    names = [str(name) for name, column in features.items() if not _is_number(column)]
    if not names:
        return
    row = _first_text(features[names[0]])
    line, text = cell(path, row, [*table.columns].index(names[0]))
    verb = "does" if len(names) == 2 else "do"
    others = f", as {verb} {', '.join(map(repr, names[1:]))}" if len(names) > 1 else ""
    raise DataError(
        f"{path}: column {names[0]!r} contains text ({text[:40]!r} in line {line}){others}; inputs "
        "must be numbers. Drop the column or encode it, for example with pandas.get_dummies."
    )


def _names(path: Path, table: pd.DataFrame, target: str) -> np.ndarray:
    """The target as class names.

    Raises:
        DataError: some of them are numbers.
    """
    import pandas as pd

    labels = table[target].astype(str)
    numbers = pd.to_numeric(labels, errors="coerce").notna()
    grouped = labels.str.fullmatch(GROUPED.pattern)
    if grouped.all() or (numbers.any() and (numbers | grouped).mean() > 0.5):
        row = int(np.argmax(grouped if grouped.all() else ~numbers))
        line, text = cell(path, row, [*table.columns].index(target))
        raise DataError(
            f"{path}: target {target!r} contains numbers, but {text[:40]!r} in line {line} is not "
            "a number. Write numbers without thousands separators and with a decimal point, or use "
            "class names that are not numbers."
        )
    return labels.to_numpy(dtype="U")


def _first_text(column: pd.Series) -> int:
    """The first row that is not a number; 0 if the numbers are only too large."""
    import pandas as pd

    return int(np.argmax(pd.to_numeric(column.astype(str), errors="coerce").isna()))


def _refuse_empty_cells(path: Path, table: pd.DataFrame) -> None:
    missing = table.isna().to_numpy()
    if missing.any():
        row, column = (int(index) for index in np.argwhere(missing)[0])
        line, text = cell(path, row, column)
        content = f"{text!r}" if text else "an empty cell"
        raise DataError(
            f"{path} has {content} in line {line}, column {str(table.columns[column])!r}: a "
            "missing value. Fill or remove such rows."
        )


def _is_number(column: pd.Series) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
