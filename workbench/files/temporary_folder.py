"""Temporary folders that are removed even when the process that created them was killed.

Each is locked while it is in use; creating one removes the unlocked ones of killed processes.
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
from workbench.files.advisory_lock import acquire_lock, is_locked
from workbench.files.disk import disk_errors

MARK = "workbench-tmp-"
"""Part of the name of each."""
UNLOCKED_S = 60.0
"""Age from which an unlocked folder counts as abandoned: a new one may not be locked yet."""


@contextmanager
def temporary_folder(
    target: Path | None = None, failure: type[WorkbenchError] = RunFolderError
) -> Iterator[Path]:
    """Create a folder, which is removed when the block ends unless it was moved.

    Args:
        target: the path that the folder will be moved to: it is created in the same directory,
            with a hidden name. None: in the system's directory for temporary files.
        failure: class of the error if it cannot be created.
    """
    parent = Path(tempfile.gettempdir()) if target is None else target.parent
    prefix = MARK if target is None else f".{target.name}.{MARK}"
    with disk_errors(target or parent, failure):
        remove_abandoned(parent, prefix)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        lock = acquire_lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove the unused folders in `parent` whose name begins with `prefix`."""
    for folder in parent.iterdir():
        if folder.name.startswith(prefix) and is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_abandoned(folder: Path) -> bool:
    """Whether `folder` is older than `UNLOCKED_S` and not locked."""
    try:
        age_s = time.time() - folder.lstat().st_mtime
    except OSError:
        return False
    return age_s > UNLOCKED_S and folder.is_dir() and not is_locked(folder)
