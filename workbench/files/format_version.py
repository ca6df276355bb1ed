"""Refuses records whose format is newer than this version of the workbench reads."""

from __future__ import annotations

from workbench.errors import WorkbenchError


def refuse_newer_format(
    found: int, supported: int, what: str, error: type[WorkbenchError], remedy: str
) -> None:
    """Raise `error` if a record has a newer format than is supported.

    Args:
        found: format of the record.
        supported: the newest that is read.
        what: the record, for the message: "Run 7".
        error: class of the error.
        remedy: what an upgrade is for, as the end of its sentence: " to open it".
    """
    if found > supported:
        raise error(
            f"{what} was written by a newer workbench (format {found}; this version supports up to "
            f"{supported}). Upgrade the workbench{remedy}."
        )
