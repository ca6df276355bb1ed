"""Where the rows of a dataset come from."""

from __future__ import annotations

from typing import NamedTuple


class RowSource(NamedTuple):
    """A .npz file or a folder of images."""

    path: str
    """Absolute."""
    target: str = ""
    """Name of the target in the file as it was given; empty: the default one."""


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
