"""Opens a file of the workbench's own only where it is one: no link, no pipe, no device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

FOREIGN = frozenset({errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.EISDIR, errno.EINVAL})
"""What `open_regular` raises for something else than a file of the workbench's."""


def open_regular(path: Path, flags: int, *, folders: bool = False) -> int:
    """A descriptor of the regular file `path`; never waits, and follows no link at its end.

    Args:
        path: the file.
        flags: of `os.open`.
        folders: whether a folder will do as well.

    Raises:
        OSError: it cannot be opened; its number is among `FOREIGN` where something else is there.
    """
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG or (folders and kind == stat.S_IFDIR):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file", str(path))
