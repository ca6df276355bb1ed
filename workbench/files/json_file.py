"""Reads and writes JSON objects in files, such as the records of a run folder."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from workbench.display.encodable import encodable_json
from workbench.errors import DamagedRecordError, RunFolderError

LARGEST_BYTES = 64 * 2**20
"""A larger file is not read; the largest files of the workbench have some MB."""


def read_json(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file, which is untrusted. Every text in it can be encoded.

    Raises:
        FileNotFoundError: there is no such file.
        RunFolderError: it cannot be read.
        DamagedRecordError: it is not a regular file, too large, or not a JSON object.
    """
    try:
        text = _read(path)
        content = json.loads(text.decode())
        if b"\\u" in text:
            content = encodable_json(content)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise DamagedRecordError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict):
        raise DamagedRecordError(f"{path} holds {text.decode()[:40].strip()}, not a JSON object.")
    return content


def _read(path: Path) -> bytes:
    """The content of a file."""
    # Opening a FIFO would block until something is written to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedRecordError(f"{path} is not a file.")
        if status.st_size > LARGEST_BYTES:
            raise DamagedRecordError(
                f"{path} is larger than {LARGEST_BYTES // 2**20} MiB, so it is no record of "
                "the workbench."
            )
        # A limit given to `read` would be allocated.
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.readall()
    finally:
        os.close(descriptor)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` atomically."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, allow_nan=False)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
