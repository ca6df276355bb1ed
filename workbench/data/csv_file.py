"""Rows from a .csv file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data.rows import Rows, make_rows
from workbench.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd


def read_csv(path: Path, target: str | None, target_dtype: str | None) -> Rows:
    """One row a line: inputs (rows, columns) float32 from every column but the target's.

    A target of text or whole numbers is one class a row, (rows,) int64; a target of other numbers
    is (rows, 1) float32, as is any with target_dtype="float32".

    Args:
        path: of a file whose first line names the columns.
        target: name of the target column.
        target_dtype: "float32" for whole numbers that are quantities, not classes.

    Raises:
        DataError: the file is damaged or empty, lacks the column, or has cells that are empty or
            no numbers.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise DataError(f"{path} is not a readable .csv file: {error}.") from None
    columns = [str(column) for column in table.columns]
    if target is None:
        raise DataError(
            f"Which column of {path} is the target? Give target=, one of: {', '.join(columns)}."
        )
    if target not in columns:
        raise DataError(f"{path} has no column {target!r}. {nearest(target, columns)}")
    features = table.drop(columns=target)
    if not len(features.columns):
        raise DataError(f"{path} has no column besides the target {target!r}.")
    _refuse_text(path, features)
    _refuse_empty_cells(path, table)
    labels = table[target]
    values: np.ndarray = labels.to_numpy() if _is_number(labels) else labels.to_numpy(dtype="U")
    if values.dtype.kind == "f" or target_dtype == "float32":
        values = values.reshape(-1, 1)
    return make_rows([features.to_numpy(dtype=np.float64)], values, target_dtype)


def _refuse_text(path: Path, features: pd.DataFrame) -> None:
    wrong = [str(name) for name, column in features.items() if not _is_number(column)]
    if wrong:
        raise DataError(
            f"{path}: column {', '.join(repr(name) for name in wrong)} holds text; inputs must be "
            "numbers. Drop such columns or encode them, for instance with pandas.get_dummies."
        )


def _refuse_empty_cells(path: Path, table: pd.DataFrame) -> None:
    missing = table.isna()
    if missing.to_numpy().any():
        row, column = (int(index) for index in np.argwhere(missing.to_numpy())[0])
        raise DataError(
            f"{path} has an empty or NaN cell in line {row + 2}, column "
            f"{str(table.columns[column])!r}; fill or remove such rows."
        )


def _is_number(column: pd.Series) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
