"""Makes sure that what was written survives a power failure, not only the end of the process."""

from __future__ import annotations

import os
from pathlib import Path


def flush_to_disk(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk.

    Windows flushes no folder; its file systems keep the order of changes of names.
    """
    if path.is_dir() and os.name == "nt":
        return
    # Windows flushes a file only through a handle that may write.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
