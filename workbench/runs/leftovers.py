"""What killed processes left among the runs: removed when the next run starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from workbench.child_process.watchdog import remove_unfinished
from workbench.files.folder_lock import is_held
from workbench.files.temporary_folder import is_abandoned
from workbench.run_folder.run_folder import RunFolder


def remove_leftovers(runs: Path) -> None:
    """Remove launches that never came to a run, and checkpoints that are not whole.

    What a process that lives has locked is left alone.
    """
    for path in runs.iterdir():
        folder = RunFolder(path)
        if is_held(folder.watchdog_lock_path):
            continue
        if folder.spec_path.exists():
            remove_unfinished(path)
            for half_written in path.glob(".*.json.*"):
                half_written.unlink(missing_ok=True)
        elif folder.watchdog_lock_path.exists() and is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)
