"""Runs of this machine whose worker process is alive."""

from __future__ import annotations

from pathlib import Path

import psutil

from workbench.files.advisory_lock import is_locked
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs.launch import AGENT, FEDERATED_WORKER, WORKER

_PACKAGES = (WORKER, FEDERATED_WORKER, AGENT)


def active_folders() -> list[Path]:
    """The folders of this user's active runs, newest first.

    Those of the current directory are found by their locks, others by their processes.
    """
    runs = home() / "runs"
    found = {path for path in runs.glob("*") if is_locked(RunFolder(path).watchdog_lock_path)}
    for process in psutil.process_iter(["cmdline", "username"]):
        command = process.info["cmdline"] or []
        is_worker = command[-3:-2] == ["-m"] and command[-2] in _PACKAGES
        if is_worker and process.info["username"] == _user():
            found.add(Path(command[-1]))
    with_spec = [path for path in found if RunFolder(path).spec_path.exists()]
    return sorted(with_spec, key=lambda path: path.name, reverse=True)


def _user() -> str:
    return psutil.Process().username()
