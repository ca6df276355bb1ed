"""The runs in the trash, as a page offers them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.errors import WorkbenchError
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.runs.trash import deleted_folders

MOST = 100
"""Largest number offered, the last deleted first."""


class DeletedRun(NamedTuple):
    """One run in the trash."""

    id: str
    title: str
    """See `Run.title`; its id where the record cannot be read."""
    deleted_at: float
    """Seconds since the epoch."""


class DeletedRuns:
    """Polls the trash; reads a record only once."""

    def __init__(self, at: Path) -> None:
        """Create without known runs.

        Args:
            at: the folder of all records.
        """
        self._at = at
        self._known: dict[Path, DeletedRun] | None = None
        self.total = 0
        """Number of runs in the trash, also of those that are not offered."""

    def changed(self) -> list[DeletedRun] | None:
        """Those offered, the last deleted first; None if nothing changed since the last call."""
        folders = deleted_folders(self._at)
        before, unchanged = self._known, len(folders) == self.total
        self.total, folders = len(folders), folders[:MOST]
        if before is not None and unchanged and [*before] == folders:
            return None
        self._known = {path: (before or {}).get(path) or _read(path) for path in folders}
        return [*self._known.values()]


def _read(path: Path) -> DeletedRun:
    try:
        title = Run(RunFolder(path)).title
    except (WorkbenchError, OSError):
        title = path.name
    try:
        deleted_at = path.lstat().st_mtime
    except OSError:  # brought back or removed meanwhile: the next look knows
        deleted_at = 0.0
    return DeletedRun(path.name, title, deleted_at)
