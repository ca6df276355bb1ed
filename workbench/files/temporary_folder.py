"""Temporary folders that are removed even where the process that made them was killed.

Each is locked while it is in use, so the next one to be made can remove those that are not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import RunFolderError, WorkbenchError
from workbench.files.disk import writing
from workbench.files.folder_lock import hold, is_held

MARK = "workbench-tmp-"
"""In the name of each, so that nothing else is taken for one."""
UNLOCKED_S = 60.0
"""A folder without a lock may be so new that its maker has not locked it yet."""


@contextmanager
def temporary_folder(
    beside: Path | None = None, failure: type[WorkbenchError] = RunFolderError
) -> Iterator[Path]:
    """A new folder, removed at the end, unless it was moved away.

    Args:
        beside: a path that the folder is to be moved to: it is made in the same directory, with a
            hidden name. None: in the system's directory for temporary files.
        failure: what to raise where it cannot be made.
    """
    parent = Path(tempfile.gettempdir()) if beside is None else beside.parent
    prefix = MARK if beside is None else f".{beside.name}.{MARK}"
    with writing(beside or parent, failure):
        remove_abandoned(parent, prefix)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        lock = hold(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove the folders in `parent` whose name begins with `prefix` and that nobody uses."""
    for folder in parent.iterdir():
        if folder.name.startswith(prefix) and is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_abandoned(folder: Path) -> bool:
    """Whether `folder` is a minute old and no process has locked it."""
    try:
        age_s = time.time() - folder.lstat().st_mtime
    except OSError:
        return False
    return age_s > UNLOCKED_S and folder.is_dir() and not is_held(folder)
