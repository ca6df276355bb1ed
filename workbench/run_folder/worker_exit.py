"""Clean-up of a run folder after its worker has exited: summary and unfinished checkpoints.

The watchdog uses it: standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import time
from pathlib import Path
from typing import Any

PREVIOUS = {"summary.json": "summary.previous.json", "spec.json": "spec.previous.json"}
"""Records of a run that is being resumed, kept until its worker has restored the checkpoint.

In the order in which they are removed: a spec that is left alone is still put back.
"""

UNFINISHED = re.compile(r"\.step-[0-9]{8,18}")
"""Name of an unfinished checkpoint; see workbench/run_folder/checkpoint.py."""


def failed(kind: str, message: str) -> dict[str, Any]:
    return {"status": "failed", "error": {"type": kind, "message": message, "traceback": ""}}


def over_memory_limit(peak_bytes: int, limit_bytes: int) -> dict[str, Any]:
    """The summary of a run whose worker has taken more memory than it may."""
    return failed(
        "MemoryLimit",
        f"The worker's resident memory reached {_megabytes(peak_bytes)}, above its limit of "
        f"{_megabytes(limit_bytes)}. Increase the memory limit (memory_limit_bytes) or the memory "
        "of the device, or reduce the batch size.",
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.{0 if size >= 1e8 else 1}f} MB"


def write_summary(folder: Path, engine: str, summary: dict[str, Any]) -> None:
    """Write the summary of a run unless its worker wrote one itself."""
    path = folder / "summary.json"
    if path.exists():
        return
    if summary["status"] == "failed":
        summary = as_before_resuming(folder, summary)
    text = json.dumps({"engine": engine, "ended": time.time(), **summary}, indent=1)
    temporary = folder / ".summary.json.watchdog"
    with contextlib.suppress(OSError):
        os.truncate(folder / "watchdog.lock", 0)  # frees the disk space reserved for the summary
    with contextlib.suppress(OSError):  # on a full disk `Run.error` uses the exit status
        temporary.unlink(missing_ok=True)  # even a link
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
        forget_previous(folder)


def as_before_resuming(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """The summary for a worker that failed; also puts the earlier spec back.

    If it failed before it had restored the checkpoint, the run is what it was before it was
    resumed: the earlier summary, with the error as `resume_error`. Otherwise `summary` itself.
    """
    try:
        path = folder / PREVIOUS["summary.json"]
        # Reading a pipe could block forever.
        earlier = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        os.replace(folder / PREVIOUS["spec.json"], folder / "spec.json")
    except (OSError, ValueError):
        return summary
    if not isinstance(earlier, dict):
        return summary
    return {**earlier, "resume_error": summary["error"]}


def restore_previous(folder: Path) -> None:
    """Put the records back of a run whose worker was to be started and has not restored it.

    Both or none: a spec of settings that were never trained with does not stay.
    """
    if (folder / "summary.json").exists():
        return
    for name in ("spec.json", "summary.json"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(folder / PREVIOUS[name], folder / name)


def forget_previous(folder: Path) -> None:
    """Remove the earlier records of a run that was resumed."""
    for name in PREVIOUS.values():
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished checkpoints of a worker that has exited.

    No link is followed, so nothing outside of `folder` is removed.
    """
    for unfinished in _unfinished(folder):
        shutil.rmtree(unfinished, ignore_errors=True)


def _unfinished(folder: Path) -> list[Path]:
    """The folders of unfinished checkpoints."""
    checkpoints = folder / "checkpoints"
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(checkpoints.lstat().st_mode):
            with os.scandir(checkpoints) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [checkpoints / name for name in folders if UNFINISHED.fullmatch(name)]
    return []


def unfinished_sizes(folder: Path) -> list[tuple[str, int]]:
    """Path and size of each file of an unfinished checkpoint."""
    with contextlib.suppress(OSError):
        return [
            (str(file), file.stat().st_size)
            for unfinished in _unfinished(folder)
            for file in sorted(unfinished.rglob("*"))
        ]
    return []
