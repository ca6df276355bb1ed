"""Removes files that killed processes left among the runs, when the next run starts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from workbench.files.advisory_lock import is_locked
from workbench.files.temporary_folder import is_abandoned
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.worker_exit import forget_previous, remove_unfinished, restore_previous

TEMPORARY_RECORD = re.compile(r"\.(spec|summary|labels)\.json\.[a-z0-9_]{8}")
"""Temporary names under which a run's records are written before they are renamed."""


def remove_abandoned_files(runs: Path) -> None:
    """Remove the folders of failed launches, unfinished checkpoints and temporary records.

    Files set aside by a resume that was killed are moved back, or removed if they were replaced.
    Folders of active runs are locked and are skipped. No link is followed. Errors are ignored.
    """
    for path in runs.iterdir():
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                _clean_run_folder(RunFolder(path))


def _clean_previous_model(folder: RunFolder) -> None:
    """Move the earlier model back, unless a new one was written; then remove the earlier one."""
    previous = folder.path / "model.previous"
    if not os.path.lexists(folder.model_path):
        with contextlib.suppress(FileNotFoundError):
            os.replace(previous, folder.model_path)
    elif previous.is_dir() and not previous.is_symlink():
        shutil.rmtree(previous, ignore_errors=True)
    else:
        previous.unlink(missing_ok=True)


def _clean_run_folder(folder: RunFolder) -> None:
    lock = folder.watchdog_lock_path
    if is_locked(lock):
        return
    if folder.spec_path.exists():
        remove_unfinished(folder.path)
        restore_previous(folder.path)
        forget_previous(folder.path)
        _clean_previous_model(folder)
        for path in folder.path.iterdir():
            if TEMPORARY_RECORD.fullmatch(path.name):
                with contextlib.suppress(OSError):
                    path.unlink()  # of a link, the link itself
    elif lock.is_file() and not lock.is_symlink() and is_abandoned(folder.path):
        shutil.rmtree(folder.path, ignore_errors=True)
