"""Folders of the user's cache, or of WORKBENCH_CACHE."""

from __future__ import annotations

import os
import stat
from pathlib import Path

VARIABLE = "WORKBENCH_CACHE"
"""Environment variable: the folder of the caches that can be turned off, or "off" for none."""

OFF = "off"

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UnusableCacheError(Exception):
    """The cache cannot be used; the message is a sentence that says why."""


def user_cache() -> Path:
    """The workbench's folder in XDG_CACHE_HOME, or ~/.cache, which may not exist.

    Raises:
        RuntimeError: the user has no home folder.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    user = Path(base) if base else Path.home() / ".cache"
    return user.absolute() / "onnxruntime-training-workbench"


def cache_folder(name: str) -> Path | None:
    """The folder `name` of a cache that can be turned off; None if it is.

    It may not exist. `WORKBENCH_CACHE` names its parent; by default that is `user_cache`.

    Raises:
        UnusableCacheError: the user has no home folder.
    """
    named = os.environ.get(VARIABLE)
    if named == OFF:
        return None
    try:
        return (Path(named).absolute() if named else user_cache()) / name
    except RuntimeError:
        raise UnusableCacheError(
            f"This user has no home folder, so nothing is cached: name a folder in {VARIABLE}."
        ) from None


def check_cache_folder(folder: Path) -> None:
    """Refuse a folder to which other users can write.

    Raises:
        UnusableCacheError: it is a link or not a folder, or another user owns it or may write
            there.
        OSError: it does not exist, or cannot be read.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UnusableCacheError(f"{folder} is not a folder, so nothing is cached: remove it.")
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        raise UnusableCacheError(
            f"Other users may write to {folder}, so nothing is cached: remove the folder, or "
            f"name another in {VARIABLE}."
        )
