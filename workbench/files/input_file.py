"""A file that somebody names to be read: whether it can be, said before anything opens it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from workbench.errors import WorkbenchError

LONGEST_SHOWN = 260
"""Characters of a path that a message holds."""

_KINDS = {
    stat.S_IFDIR: "is a folder, not a file",
    stat.S_IFIFO: "is a pipe, which has no end; write its content into a file first",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}


def check_file(path: Path, failure: type[WorkbenchError]) -> Path:
    """`path`, for certain a regular file; to open anything else may never come back.

    Raises:
        failure: it does not exist, cannot be reached, or is a folder, pipe, socket or device.
    """
    if "\0" in str(path):
        raise failure(f"{shown(path)} holds a NUL character, which no file name can.")
    try:
        kind = file_kind(path)
    except OSError as error:
        raise failure(f"{shown(path)} cannot be read: {error.strerror or error}.") from None
    if kind is None:
        raise failure(f"{shown(path)} does not exist; check the path, relative to {_here()}.")
    if kind != stat.S_IFREG:
        raise failure(f"{shown(path)} {_KINDS.get(kind, 'is no regular file')}.")
    if not os.access(path, os.R_OK):
        raise failure(f"{shown(path)} cannot be read: permission denied. Allow it with chmod.")
    return path


def read_file(path: Path, failure: type[WorkbenchError]) -> bytes:
    """All of the regular file `path`.

    Raises:
        failure: as `check_file`, or it cannot be read all the same, as files of the system.
    """
    check_file(path, failure)
    try:
        return path.read_bytes()
    except OSError as error:
        raise failure(f"{shown(path)} cannot be read: {error.strerror or error}.") from None


def file_kind(path: Path) -> int | None:
    """What `path` leads to, as `stat.S_IFMT` says it; None where there is nothing.

    Raises:
        OSError: it cannot be told: the name is too long, links go in a circle, and such.
    """
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_there(path: Path) -> bool:
    """Whether `path` leads to anything; False too for names that nothing can have."""
    try:
        return file_kind(path) is not None
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether `path` leads to a regular file; False too for names that no file can have."""
    try:
        return file_kind(path) == stat.S_IFREG
    except (OSError, ValueError):
        return False


def shown(path: Path | str) -> str:
    """A path for messages: in one line, its middle left out where it is very long."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(path))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:120]}...{text[-120:]}"


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "a working directory that is gone"
