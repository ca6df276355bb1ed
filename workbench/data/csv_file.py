"""Rows from a .csv file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data.csv_lines import cell, check_lines
from workbench.data.rows import Rows, exact_float32, make_rows
from workbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

GROUPED = re.compile(r"\s*[-+]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?\s*")
"""A number with separators between its thousands."""


def read_csv(path: Path, target: str | None, target_dtype: str | None) -> Rows:
    """One row a line: inputs (rows, columns) float32 from every column but the target's.

    A target of text or whole numbers is one class a row, (rows,) int64; a target of other numbers
    is (rows, 1) float32, as is any with target_dtype="float32".

    Args:
        path: of a file in UTF-8 whose first line names the columns, with commas between the values.
        target: name of the target column.
        target_dtype: "float32" for whole numbers that are quantities, not classes.

    Raises:
        DataError: the file is damaged or empty, lacks the column, or has lines of other lengths,
            or cells that are empty or no numbers.
    """
    import pandas as pd

    columns, rows = check_lines(path)
    if target is None:
        raise DataError(
            f"Which column of {path} is the target? Give target=, one of: {', '.join(columns)}."
        )
    if target not in columns:
        raise DataError(f"{path} has no column {target!r}. {nearest(target, columns)}")
    if len(columns) == 1:
        raise DataError(f"{path} has no column besides the target {target!r}.")
    if not rows:
        raise DataError(f"{path} is empty: it has names of columns and no rows.")
    try:
        # In one piece: of pieces, one may take for numbers what the next takes for text.
        table = pd.read_csv(
            path, header=0, names=columns, index_col=False, encoding="utf-8-sig", low_memory=False
        )
    except (ValueError, OSError, MemoryError) as error:
        raise DataError(f"{path} is not a readable .csv file: {error}.") from None
    if len(table) != rows:
        raise DataError(
            f"{path} is not a readable .csv file: its quotes leave open where lines end ({rows} or "
            f"{len(table)} rows). Save it again, with values that hold quotes in double quotes."
        )
    _refuse_empty_cells(path, table)
    features = table.drop(columns=target)
    for name, column in features.items():
        _refuse_text(path, table, str(name), column)
        exact_float32(column.to_numpy(), f"Column {name!r} of {path}")
    labels = table[target]
    values = labels.to_numpy() if _is_number(labels) else _names(path, table, target)
    if values.dtype.kind == "f" or target_dtype == "float32":
        values = values.reshape(-1, 1)
    return make_rows([features.to_numpy(dtype=np.float64)], values, target_dtype)


def _refuse_text(path: Path, table: pd.DataFrame, name: str, column: pd.Series) -> None:
    if _is_number(column):
        return
    row = _first_text(column)
    line, text = cell(path, row, [*table.columns].index(name))
    raise DataError(
        f"{path}: column {name!r} holds text ({text[:40]!r} in line {line}); inputs must be "
        "numbers. Drop such columns or encode them, for instance with pandas.get_dummies."
    )


def _names(path: Path, table: pd.DataFrame, target: str) -> np.ndarray:
    """The target as names of classes.

    Raises:
        DataError: some or all of them are numbers.
    """
    import pandas as pd

    labels = table[target].astype(str)
    numbers = pd.to_numeric(labels, errors="coerce").notna()
    grouped = labels.str.fullmatch(GROUPED.pattern)
    if grouped.all() or (numbers.any() and (numbers | grouped).mean() > 0.5):
        row = int(np.argmax(grouped if grouped.all() else ~numbers))
        line, text = cell(path, row, [*table.columns].index(target))
        raise DataError(
            f"{path}: target {target!r} holds numbers, but {text[:40]!r} in line {line} is none. "
            "Write numbers without separators between thousands and with a point before decimals, "
            "or names of classes that are no numbers."
        )
    return labels.to_numpy(dtype="U")


def _first_text(column: pd.Series) -> int:
    """The first row that holds no number; 0 where the numbers are only too large."""
    import pandas as pd

    return int(np.argmax(pd.to_numeric(column.astype(str), errors="coerce").isna()))


def _refuse_empty_cells(path: Path, table: pd.DataFrame) -> None:
    missing = table.isna().to_numpy()
    if missing.any():
        row, column = (int(index) for index in np.argwhere(missing)[0])
        line, text = cell(path, row, column)
        holds = f"{text!r}" if text else "an empty cell"
        raise DataError(
            f"{path} has {holds} in line {line}, column {str(table.columns[column])!r}, which is "
            "no value; fill or remove such rows."
        )


def _is_number(column: pd.Series) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
