"""What killed processes left among the runs: removed when the next run starts."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

from workbench.child_process.worker_end import remove_unfinished
from workbench.files.folder_lock import is_held
from workbench.files.temporary_folder import is_abandoned
from workbench.run_folder.run_folder import RunFolder

HALF_WRITTEN = re.compile(r"\.(spec|summary)\.json\.[a-z0-9_]{8}")
"""Names under which a run's records are written before they are moved into place."""


def remove_leftovers(runs: Path) -> None:
    """Remove launches that never came to a run, and checkpoints that are not whole.

    What a process that lives has locked is left alone, and so is all that lies outside of `runs`:
    no link is followed. What cannot be read or removed stays.
    """
    for path in runs.iterdir():
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                _remove_leftovers_of(RunFolder(path))


def _remove_leftovers_of(folder: RunFolder) -> None:
    lock = folder.watchdog_lock_path
    if is_held(lock):
        return
    if folder.spec_path.exists():
        remove_unfinished(folder.path)
        for half_written in folder.path.iterdir():
            if HALF_WRITTEN.fullmatch(half_written.name):
                with contextlib.suppress(OSError):
                    half_written.unlink()  # of a link, the link itself
    elif lock.is_file() and not lock.is_symlink() and is_abandoned(folder.path):
        shutil.rmtree(folder.path, ignore_errors=True)
