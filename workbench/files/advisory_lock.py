"""Advisory locks (`flock`) on files and folders, held by the process that uses them.

The operating system releases a lock when its process ends, even when it is killed.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from workbench.files.regular_file import NOT_REGULAR_FILE, open_regular


def acquire_lock(path: Path, *, wait: bool = True) -> int | None:
    """Acquire an exclusive lock on the file or folder `path`.

    Args:
        path: the file or folder.
        wait: wait until it is free; otherwise a lock that is held raises BlockingIOError.

    Returns:
        A file descriptor, or None where the file system does not support locks. The lock is held
        until the descriptor and every copy that a child process inherited are closed.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be opened, or is a symbolic link, a pipe or a device.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = open_regular(path, flags, folders=True)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: Path) -> bool:
    """Whether a running process holds the lock on `path`; True if this cannot be determined.

    False for anything but a regular file or a folder: the workbench locks nothing else.
    """
    try:
        descriptor = open_regular(path, os.O_RDONLY, folders=True)
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno not in NOT_REGULAR_FILE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
