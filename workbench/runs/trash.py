"""Deleted runs: they are kept for at least 30 days, and can be restored."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from workbench.errors import ConfigError, RunError, RunFolderError, nearest, value_text
from workbench.files.advisory_lock import acquire_lock, is_locked
from workbench.files.disk import disk_errors
from workbench.run_folder.run_folder import RunFolder, home, is_id, make_folder

KEPT_DAYS = 30
"""Days after which a deleted run is removed permanently when the next one is deleted."""

DAY_S = 86400


def trash(at: Path | None = None) -> Path:
    """The folder of deleted runs; the modification time of each is when it was deleted.

    Args:
        at: the folder of all records; None: `home`.
    """
    return (at or home()) / "trash"


def move_to_trash(folder: RunFolder, at: Path | None = None) -> Path:
    """Move a run to the trash, and remove expired runs from it.

    Args:
        folder: of the run.
        at: see `trash`.

    Returns:
        Its folder in the trash.

    Raises:
        RunError: it is in progress.
        RunFolderError: it is not among the runs of this directory, or cannot be moved.
    """
    at = at or home()
    if folder.path.parent != at / "runs" or not is_id(folder.id):
        raise RunFolderError(
            f"{folder.path} is not among the runs of {at}, so it is not moved to its trash; "
            "remove the folder yourself."
        )
    if not os.path.lexists(folder.path):
        raise RunFolderError(f"Run {folder.id} does not exist any more.")
    target = trash(at) / folder.id
    if os.path.lexists(target):
        raise RunFolderError(
            f"The trash holds another run {folder.id}: remove {target}, then delete this one."
        )
    make_folder(trash(at))
    with disk_errors(folder.path), contextlib.ExitStack() as locked:
        # While it is held, no other process can resume the run.
        if folder.path.is_dir() and not folder.path.is_symlink():
            try:
                lock = acquire_lock(folder.watchdog_lock_path, wait=False)
            except BlockingIOError:
                raise RunError(
                    f"Run {folder.id} is in progress: stop it, then delete it."
                ) from None
            if lock is not None:
                locked.callback(os.close, lock)
        folder.path.rename(target)
        os.utime(target, follow_symlinks=False)
    purge_trash(KEPT_DAYS, at)
    return target


def restore_from_trash(run_id: str, at: Path | None = None) -> RunFolder:
    """Move a deleted run back to where it was.

    Args:
        run_id: of the run.
        at: see `trash`.

    Raises:
        RunFolderError: there is no such deleted run, or another run has its id.
    """
    at = at or home()
    known = [path.name for path in deleted_folders(at)]
    if not isinstance(run_id, str) or not is_id(run_id) or run_id not in known:
        hint = nearest(str(run_id), known) if known else "The trash is empty."
        raise RunFolderError(f"No deleted run {value_text(run_id)} in {trash(at)}. {hint}")
    target = at / "runs" / run_id
    if os.path.lexists(target):
        raise RunFolderError(f"Run {run_id} exists: move {target} away, then undelete the other.")
    make_folder(target.parent)
    with disk_errors(target):
        (trash(at) / run_id).rename(target)
    return RunFolder(target)


def deleted_folders(at: Path | None = None) -> list[Path]:
    """The folders of the deleted runs, the last deleted first; `at`: see `trash`."""
    try:
        with os.scandir(trash(at)) as entries:
            times = {
                Path(entry.path): entry.stat(follow_symlinks=False).st_mtime for entry in entries
            }
    except OSError:
        return []
    return sorted(times, key=lambda path: times[path], reverse=True)


def is_deleted(run_id: str) -> bool:
    """Whether the trash holds a run of this id."""
    return is_id(run_id) and run_id in {path.name for path in deleted_folders()}


def purge_trash(older_than_days: float = 0, at: Path | None = None) -> list[str]:
    """Remove deleted runs permanently.

    Args:
        older_than_days: only those that were deleted longer ago.
        at: the folder of all records; None: that of the working directory.

    Returns:
        The ids of the removed runs.

    Raises:
        ConfigError: `older_than_days` is not a number of days, 0 or more.
    """
    number = isinstance(older_than_days, int | float) and not isinstance(older_than_days, bool)
    if not number or not older_than_days >= 0:
        raise ConfigError(
            [f"older_than_days={value_text(older_than_days)} must be a number of days, 0 or more."]
        )
    latest = time.time() - older_than_days * DAY_S
    removed = []
    for path in deleted_folders(at):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime > latest or is_locked(path / "watchdog.lock"):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed.append(path.name)
    return removed
