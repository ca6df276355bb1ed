"""The names in a data file, one of which is the target."""

from __future__ import annotations

import csv

from workbench.data.readers.npz_file import TARGET_NAMES, member_names
from workbench.files.input_file import is_file
from workbench.files.user_path import user_path


def is_csv(source: str) -> bool:
    """Whether it names a .csv file."""
    return source.strip().lower().endswith(".csv")


def is_npz(source: str) -> bool:
    """Whether it names a .npz file."""
    return source.strip().lower().endswith(".npz")


def has_target_field(source: str) -> bool:
    """Whether it names a file whose target can be chosen."""
    return is_csv(source) or is_npz(source)


def csv_columns(path: str) -> list[str]:
    """The names in the first line of a .csv file; empty for others, and where it cannot be read."""
    place = user_path(path.strip())
    if not is_csv(path) or not is_file(place):  # opening a pipe could block forever
        return []
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def target_names(source: str) -> list[str]:
    """The columns of a .csv file, or the arrays of a .npz file; empty for others, and where it
    cannot be read."""
    return member_names(user_path(source.strip())) if is_npz(source) else csv_columns(source)


def targets_to_choose(source: str) -> list[str]:
    """The same, but for a file whose target is known by its name."""
    names = target_names(source)
    known = is_npz(source) and sum(name in names for name in TARGET_NAMES) == 1
    return [] if known else names
