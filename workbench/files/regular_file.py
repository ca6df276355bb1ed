"""Opens the workbench's own files, and refuses symbolic links, pipes and devices."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

NOT_REGULAR_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.EISDIR, errno.EINVAL})
"""Error numbers that `open_regular` raises where there is something else than a regular file."""


def open_regular(path: Path, flags: int, *, folders: bool = False) -> int:
    """Open the regular file `path` without blocking and without following a symbolic link.

    Args:
        path: the file.
        flags: those of `os.open`.
        folders: whether a folder is accepted as well.

    Returns:
        A file descriptor.

    Raises:
        OSError: it cannot be opened. `errno` is in `NOT_REGULAR_FILE` if it is something else.
    """
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG or (folders and kind == stat.S_IFDIR):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", str(path))
