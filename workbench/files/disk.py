"""Turns errors of the disk or file system into one sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import RunFolderError, WorkbenchError
from workbench.files.input_file import display_path

FULL = "The disk is full: free some space."
SHORT = "The disk is full, or the file is larger than this process may write; see `ulimit -f`."
_SENTENCES = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: "The quota of this user on the disk is used up: free some space.",
    errno.EFBIG: "The file is larger than this process may write; see `ulimit -f`.",
    errno.EROFS: "The file system is read-only: make it writable, or choose another folder.",
    errno.EACCES: "This user may not write there: choose another folder, or allow it with chmod.",
    errno.EPERM: "This user may not write there: choose another folder, or allow it with chmod.",
    errno.EIO: "The disk reports an error.",
    errno.ENAMETOOLONG: "The name is too long: choose a shorter one.",
    errno.ENOTDIR: "Part of the path is a file, not a folder.",
    errno.EEXIST: "Part of the path is a file, not a folder.",
    errno.ELOOP: "The symbolic links in the path form a loop.",
}
_MESSAGES = {
    "os error 28": errno.ENOSPC,
    "No space left on device": errno.ENOSPC,
    "os error 122": errno.EDQUOT,
    "os error 27": errno.EFBIG,
    "File too large": errno.EFBIG,
    "os error 30": errno.EROFS,
    "os error 13": errno.EACCES,
}
"""Texts of the same errors from native libraries, such as safetensors and ONNX Runtime."""


def disk_problem(error: BaseException) -> str | None:
    """Description of a disk or file-system error, in a sentence; None for other errors."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None:
        text = str(error)
        number = next((code for part, code in _MESSAGES.items() if part in text), None)
        # numpy's message for a short write; it does not give the reason.
        if isinstance(error, OSError) and " requested and " in text and " written" in text:
            return SHORT
    return _SENTENCES.get(number) if number is not None else None


@contextmanager
def disk_errors(path: Path, failure: type[WorkbenchError] = RunFolderError) -> Iterator[None]:
    """Raise `failure`, with `path` and the cause in one sentence, where it cannot be written."""
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        problem = disk_problem(error)
        if problem is None and isinstance(error, OSError):
            problem = f"{error.strerror or error}."
        if problem is None:
            raise
        raise failure(f"{display_path(path)} cannot be written. {problem}") from error
