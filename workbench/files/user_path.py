"""Paths as users write them: a leading ~ is their home folder."""

from __future__ import annotations

from pathlib import Path


def user_path(path: str | Path) -> Path:
    """`path` with a leading ~ or ~user replaced by that home folder; as it is without such a user.

    What is not replaced would name a folder that is called ~.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:  # there is no such user
        return Path(path)
