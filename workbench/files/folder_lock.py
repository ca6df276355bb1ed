"""Advisory locks on files and folders: what is locked is in use by a process that lives.

The system releases a lock when its process ends, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from workbench.files.regular_file import FOREIGN, open_regular


def hold(path: Path) -> int | None:
    """Lock the file or folder `path`; None where the file system has no locks.

    Returns:
        A file descriptor. The lock lasts until it is closed, and every copy that a child process
        was given.

    Raises:
        OSError: it cannot be opened, or is a link, a pipe or the like.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = open_regular(path, flags, folders=True)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a process that lives has locked `path`; True as well where that cannot be told.

    What is neither a regular file nor a folder is none of the workbench's locks: nobody holds it.
    """
    try:
        descriptor = open_regular(path, os.O_RDONLY, folders=True)
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno not in FOREIGN
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
