"""The runs whose worker lives, wherever on this machine they were started."""

from __future__ import annotations

from pathlib import Path

import psutil

from workbench.files.folder_lock import is_held
from workbench.run_folder.run_folder import RunFolder, home

_COMMAND = ["-m", "workbench.worker"]


def active_folders() -> list[Path]:
    """The folders of the live runs of this user, newest first.

    Those of the current directory are known by their locks, those of others by their processes.
    """
    here = home() / "runs"
    found = {path for path in here.glob("*") if is_held(RunFolder(path).watchdog_lock_path)}
    for process in psutil.process_iter(["cmdline", "username"]):
        command = process.info["cmdline"] or []
        if command[-3:-1] == _COMMAND and process.info["username"] == _user():
            found.add(Path(command[-1]))
    started = [path for path in found if RunFolder(path).spec_path.exists()]
    return sorted(started, key=lambda path: path.name, reverse=True)


def _user() -> str:
    return psutil.Process().username()
