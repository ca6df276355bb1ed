"""Where rows of a table come from."""

from __future__ import annotations

from typing import NamedTuple


class CsvTable(NamedTuple):
    """A .csv file and its columns."""

    file: str
    """Absolute path."""
    columns: tuple[str, ...]
    """Names of the inputs' values, in their order."""
    target: str
    """Name of the target column."""
    groups: str = ""
    """Name of the column with the group of each row, which is no input; empty without one."""
