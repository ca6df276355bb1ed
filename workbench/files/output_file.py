"""Atomic writes of output files: under a temporary name first, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError, value_text
from workbench.files.disk import disk_errors
from workbench.files.input_file import display_path, file_kind
from workbench.files.user_path import user_path


@contextmanager
def replacing_file(path: Path, failure: type[WorkbenchError]) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` when the block ends without an error.

    A missing folder is created. An existing regular file is replaced, and kept if anything fails.
    Of a symbolic link, the target is replaced.

    Raises:
        failure: `path` is not a regular file, or it cannot be written.
    """
    with disk_errors(path, failure):
        target = check_place(path, failure)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_path(target)
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def output_path(path: object, failure: type[WorkbenchError]) -> Path:
    """The path of a file to write, as a caller passes it; a leading ~ is the home folder.

    Raises:
        failure: it is neither a string nor a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise failure(f"{value_text(path)} is not the path of a file to write: give a string.")
    return user_path(Path(path))


def check_place(path: Path, failure: type[WorkbenchError]) -> Path:
    """Check that `path` can be written as a file.

    Returns:
        `path` with links resolved.

    Raises:
        failure: there is a folder, a device or a pipe, the name is invalid, or it is not writable.
    """
    if str(path) in ("", "."):
        raise failure("The name of the file to write is empty; give a path.")
    if "\0" in str(path):
        raise failure(f"{display_path(path)} holds a NUL character, which no file name can.")
    with disk_errors(path, failure):
        kind = file_kind(path)
        if kind == stat.S_IFDIR:
            raise failure(f"{display_path(path)} is a folder; give the path of a file.")
        if kind not in (None, stat.S_IFREG):
            raise failure(f"{display_path(path)} is a device or a pipe, not a file.")
        target = Path(os.path.realpath(path))
        if kind is not None and not os.access(target, os.W_OK):
            raise _not_writable(target)
        _check_folder(target.parent)
        return target


def check_folder_place(path: Path, failure: type[WorkbenchError]) -> None:
    """Check that the folder `path` can be written to or created.

    Raises:
        failure: there is something else, or it cannot be created.
    """
    if "\0" in str(path):
        raise failure(f"{display_path(path)} contains a NUL character; remove it.")
    with disk_errors(path, failure):
        kind = file_kind(path)
        if kind not in (None, stat.S_IFDIR):
            raise failure(f"{display_path(path)} is a file, not a folder; give a folder.")
        _check_folder(Path(os.path.realpath(path)))


def temporary_path(target: Path) -> Path:
    """An unused hidden name in the folder of `target`."""
    # Only the first characters of the name: the whole name plus a suffix could be too long.
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}{target.suffix[:20]}")


def _check_folder(folder: Path) -> None:
    """Raise the OSError that creating `folder`, or writing into it, would raise."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _not_writable(folder)


def _not_writable(path: Path) -> OSError:
    """What writing to `path`, which `os.access` denies, would raise."""
    read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    number = errno.EROFS if read_only else errno.EACCES
    return OSError(number, os.strerror(number))
