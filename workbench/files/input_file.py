"""Checks of an input file before it is opened."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from workbench.errors import WorkbenchError, value_text

LONGEST_SHOWN = 260
"""Longest path that a message shows in full, in characters."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

_KINDS = {
    stat.S_IFDIR: "is a folder, not a file",
    stat.S_IFIFO: "is a pipe, which has no end; write its content into a file first",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}


def check_file(path: Path, failure: type[WorkbenchError]) -> Path:
    """Check that `path` is a readable regular file: opening a pipe could block forever.

    Returns:
        `path`.

    Raises:
        failure: it does not exist, cannot be reached, or is a folder, pipe, socket or device.
    """
    if "\0" in str(path):
        raise failure(f"{display_path(path)} contains a NUL character; remove it.")
    try:
        kind = file_kind(path)
    except OSError as error:
        raise failure(f"{display_path(path)} cannot be read: {error.strerror or error}.") from None
    if kind is None:
        raise failure(
            f"{display_path(path)} does not exist; check the path, relative to {_here()}."
        )
    if kind != stat.S_IFREG:
        raise failure(f"{display_path(path)} {_KINDS.get(kind, 'is not a regular file')}.")
    if not os.access(path, os.R_OK):
        raise failure(
            f"{display_path(path)} cannot be read: permission denied. Allow it with chmod."
        )
    return path


def refuse_url(source: str, failure: type[WorkbenchError]) -> None:
    """Refuse a URL, of which a `Path` would drop a slash.

    Raises:
        failure: `source` is one.
    """
    if _URL.match(source.strip()):
        raise failure(
            f"{value_text(source)} is a URL, not a file here: download it first, and give the path "
            "of the file."
        )


def read_file(path: Path, failure: type[WorkbenchError]) -> bytes:
    """The content of the regular file `path`.

    Raises:
        failure: as `check_file`, or reading fails.
    """
    check_file(path, failure)
    try:
        return path.read_bytes()
    except OSError as error:
        raise failure(f"{display_path(path)} cannot be read: {error.strerror or error}.") from None


def file_kind(path: Path) -> int | None:
    """The file type of `path` as `stat.S_IFMT` returns it, links followed; None: does not exist.

    Raises:
        OSError: `path` cannot be resolved, for example because its name is too long.
    """
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def path_exists(path: Path) -> bool:
    """Whether `path` exists, links followed; False for invalid names as well."""
    try:
        return file_kind(path) is not None
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether `path` is a regular file, links followed; False for invalid names as well."""
    try:
        return file_kind(path) == stat.S_IFREG
    except (OSError, ValueError):
        return False


def display_path(path: Path) -> str:
    """A path as messages show it: on one line, a very long one shortened in the middle."""
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(path))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:120]}...{text[-120:]}"


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "a working directory that was removed"
