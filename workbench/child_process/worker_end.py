"""What is left to do when a worker has ended: its summary, and what it did not finish.

The standard library alone, for the watchdog.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

EXIT_UNWRITABLE = 74
EXIT_NOT_STARTED = 127

UNFINISHED = re.compile(r"\.step-[0-9]{8,18}")
"""Name of a checkpoint that is being written; see workbench/run_folder/checkpoint.py."""


def describe_death(log: Path, exit_status: int) -> dict[str, str]:
    """Why a worker that left no summary ended, from its exit status and the end of its log."""
    kind = "Exit"
    message = f"The worker ended with exit status {exit_status} and no summary."
    if exit_status < 0:
        kind = signal.Signals(-exit_status).name
        hint = {
            "SIGKILL": " Something ended it from outside; often the system, out of memory.",
            "SIGSEGV": " Native code crashed.",
            "SIGFPE": " Native code crashed: ONNX Runtime does so on some graphs.",
            "SIGABRT": " Native code gave up.",
        }.get(kind, "")
        message = f"The worker was ended by {kind}.{hint}"
    elif exit_status == EXIT_UNWRITABLE:
        message = "The worker ended because it could not write its folder: is the disk full?"
    elif exit_status == EXIT_NOT_STARTED:
        message = "The worker process could not be started."
    lines: list[str] = []
    with contextlib.suppress(OSError):
        if log.is_file():
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
    return {"type": kind, "message": message, "traceback": "\n".join(lines)}


def failed(kind: str, message: str) -> dict[str, Any]:
    return {"status": "failed", "error": {"type": kind, "message": message, "traceback": ""}}


def write_summary(folder: Path, engine: str, exit_status: int, summary: dict[str, Any]) -> None:
    """Write `summary`, or how the worker died where that is empty, unless it left one itself."""
    path = folder / "summary.json"
    if path.exists():
        return
    if not summary:
        summary = {"status": "failed", "error": describe_death(folder / "worker.log", exit_status)}
    text = json.dumps({"engine": engine, **summary, "ended": time.time()}, indent=1)
    temporary = folder / ".summary.json.watchdog"
    with contextlib.suppress(OSError):
        os.truncate(folder / "watchdog.lock", 0)  # which was written to leave room for this
    with contextlib.suppress(OSError):  # where the disk is full, the exit status tells `Run.error`
        temporary.unlink(missing_ok=True)  # whatever it is, even a link
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)


def remove_unfinished(folder: Path) -> None:
    """Remove what a worker that is dead was writing: checkpoints that are not whole.

    Nothing outside of `folder` is touched: no link is followed.
    """
    for unfinished in _unfinished(folder):
        shutil.rmtree(unfinished, ignore_errors=True)


def _unfinished(folder: Path) -> list[Path]:
    """The folders of checkpoints that are being written, or were when their worker died."""
    checkpoints = folder / "checkpoints"
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(checkpoints.lstat().st_mode):
            with os.scandir(checkpoints) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [checkpoints / name for name in folders if UNFINISHED.fullmatch(name)]
    return []


def unfinished_sizes(folder: Path) -> list[tuple[str, int]]:
    """Name and size of each file of a checkpoint that is being written."""
    with contextlib.suppress(OSError):
        return [
            (str(file), file.stat().st_size)
            for unfinished in _unfinished(folder)
            for file in sorted(unfinished.rglob("*"))
        ]
    return []
