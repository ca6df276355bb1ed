"""A file that somebody names to be written: made beside its place, then moved into it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files.disk import writing
from workbench.files.input_file import file_kind, shown


@contextmanager
def written(path: Path, failure: type[WorkbenchError]) -> Iterator[Path]:
    """The name under which to write what becomes `path` once the block has ended.

    The folder is made when it is missing. What is at `path` is replaced only if it is a regular
    file, and kept if anything fails. A symbolic link stays one: what it leads to is replaced.

    Raises:
        failure: the place or the disk does not take it, in a sentence.
    """
    with writing(path, failure):
        target = check_place(path, failure)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = beside(target)
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def check_place(path: Path, failure: type[WorkbenchError]) -> Path:
    """Where a file called `path` comes to lie, links followed.

    Raises:
        failure: there is a folder, a device or another thing that is no regular file, or no file
            can be called so.
    """
    if str(path) in ("", "."):
        raise failure("The name of the file to write is empty; give a path.")
    if "\0" in str(path):
        raise failure(f"{shown(path)} holds a NUL character, which no file name can.")
    with writing(path, failure):
        kind = file_kind(path)
        if kind == stat.S_IFDIR:
            raise failure(f"{shown(path)} is a folder; give the path of a file.")
        if kind not in (None, stat.S_IFREG):
            raise failure(f"{shown(path)} is a device or a pipe, not a file; it is left alone.")
        target = Path(os.path.realpath(path))
        if kind is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _check_folder(target.parent)
        return target


def check_folder_place(path: Path, failure: type[WorkbenchError]) -> None:
    """Refuse a folder that can be neither written to nor made.

    Raises:
        failure: there is something else, or none can be made there.
    """
    if "\0" in str(path):
        raise failure(f"{shown(path)} holds a NUL character, which no folder's name can.")
    with writing(path, failure):
        kind = file_kind(path)
        if kind not in (None, stat.S_IFDIR):
            raise failure(f"{shown(path)} is a file, not a folder; give a folder.")
        _check_folder(Path(os.path.realpath(path)))


def beside(target: Path) -> Path:
    """A name in the folder of `target` that nothing has."""
    # Of the name only its beginning: with more around it, it might be too long for a file.
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}{target.suffix[:20]}")


def _check_folder(folder: Path) -> None:
    """Raise the OSError that to write into `folder`, or first to make it, would come to."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
