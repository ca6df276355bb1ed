"""Where the rows of a dataset come from."""

from __future__ import annotations

from typing import NamedTuple


class RowSource(NamedTuple):
    """A .csv file, a .npz file or a folder of images."""

    path: str
    """Absolute."""
    target: str = ""
    """Name of the target column or array; empty: the default one."""
    groups: str = ""
    """Name of the column with the group of each row, which is no input; empty without one."""
    columns: tuple[str, ...] = ()
    """Of a .csv file: names of the inputs' values, in their order."""
