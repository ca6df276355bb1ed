"""The folder of the cache: the user's, that of WORKBENCH_CACHE, or none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

VARIABLE = "WORKBENCH_CACHE"
"""Environment variable: the folder of the cache, or "off" for none."""

OFF = "off"

FOLDER = "exports"

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnusableCacheError(Exception):
    """The cache cannot be used; the message is a sentence that says why."""


def cache_folder() -> Path | None:
    """The folder of the cached exports, which need not be there; None where they are turned off.

    `WORKBENCH_CACHE` names its parent; without that it is in XDG_CACHE_HOME, or ~/.cache.

    Raises:
        UnusableCacheError: the user has no home folder.
    """
    named = os.environ.get(VARIABLE)
    if named == OFF:
        return None
    if named:
        return Path(named).absolute() / FOLDER
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        user = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        raise UnusableCacheError(
            f"This user has no home folder, so no export is cached: name a folder in {VARIABLE}."
        ) from None
    return user.absolute() / "onnxruntime-training-workbench" / FOLDER


def check_cache_folder(folder: Path) -> None:
    """Refuse a folder to which other users can write.

    Raises:
        UnusableCacheError: it is a link or no folder, or another user owns it or may write there.
        OSError: it does not exist, or cannot be read.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UnusableCacheError(f"{folder} is not a folder, so no export is cached: remove it.")
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        raise UnusableCacheError(
            f"Other users may write to {folder}, so no export is cached: remove the folder, or "
            f"name another in {VARIABLE}."
        )
