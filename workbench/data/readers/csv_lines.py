"""Validation of the lines of a .csv file, as pandas repairs malformed lines silently."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from workbench.errors import DataError

OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}

_MARKS = {
    b"PK\x03\x04": "a zip archive or spreadsheet; save it as CSV",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\xff\xfe": "in UTF-16; save it as UTF-8",
    b"\xfe\xff": "in UTF-16; save it as UTF-8",
}
"""Magic numbers of files that are not CSV in UTF-8."""


def check_lines(path: Path) -> tuple[list[str], int]:
    """Column names and number of rows.

    Raises:
        DataError: the file is empty or not UTF-8 text, column names are missing or not unique, or a
            line has too many or too few values; names the line.
    """
    _refuse_other_formats(path)
    lines = _records(path)
    columns = next((record for _, record in lines), None)
    if columns is None:
        raise DataError(f"{path} is not a readable .csv file: it is empty.")
    _check_names(path, columns)
    rows = 0
    for line, record in lines:
        rows += 1
        if len(record) != len(columns):
            kind = "more" if len(record) > len(columns) else "fewer"
            raise DataError(
                f"{path} has {len(record)} values in line {line}, {kind} than the "
                f"{len(columns)} columns of its header. Correct that line; a value that "
                "contains a comma must be in double quotes."
            )
    return columns, rows


def cell(path: Path, row: int, column: int) -> tuple[int, str]:
    """Line and text of a cell.

    Args:
        row: from 0, without the header.
    """
    line, record = next(islice(_records(path), row + 1, None))
    return line, record[column]


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each record and the number of its last line; empty lines are skipped, as pandas does."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            for record in reader:
                if any("\0" in value for value in record):
                    raise DataError(
                        f"{path} has a NUL character in line {reader.line_num}; it is not text."
                    )
                if record and not (len(record) == 1 and not record[0].strip()):
                    yield reader.line_num, record
        except csv.Error as error:
            raise DataError(
                f"{path} is not a readable .csv file: {error}, at line {reader.line_num}."
            ) from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path} is not text in UTF-8: {error.reason} (byte {error.object[error.start]:#x} "
                f"after line {reader.line_num}). Save it as UTF-8."
            ) from None


def _check_names(path: Path, columns: list[str]) -> None:
    if len(columns) == 1:
        for separator, name in OTHER_SEPARATORS.items():
            if separator in columns[0]:
                raise DataError(
                    f"{path} uses {name} as separators; save it with commas as separators and "
                    "decimal points."
                )
    for place, name in enumerate(columns):
        if not name.strip():
            raise DataError(
                f"{path} has no name for column {place + 1} in its header. Add a name, or remove "
                "the column: pandas writes its index so unless index=False is given."
            )
        if name in columns[:place]:
            raise DataError(f"{path} has two columns named {name!r}; column names must be unique.")


def _refuse_other_formats(path: Path) -> None:
    with path.open("rb") as file:
        first = file.read(4)
    for mark, what in _MARKS.items():
        if first.startswith(mark):
            raise DataError(f"{path} is not text in UTF-8: it seems to be {what}.")
