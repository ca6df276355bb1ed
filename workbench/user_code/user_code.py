"""User code that a worker process may execute; the only module that unpickles.

Files on disk are untrusted and never cause a process to execute code. A process whose caller passed
a module, a factory or a function passes the SHA-256 of that code and the folders of its modules to
the worker that it starts, in environment variables. A worker executes no other user code.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

SHA256_VARIABLE = "WORKBENCH_CODE_SHA256"
"""Environment variable: SHA-256 hashes, in hexadecimal, of the code that may be executed."""

PATH_VARIABLE = "WORKBENCH_CODE_PATH"
"""Environment variable: folders with the modules of that code."""


class UserCode(NamedTuple):
    """Code that a child process may execute."""

    sha256: tuple[str, ...] = ()
    """Hash of each pickle, or of the text "package.module:factory" for a factory."""
    search_path: tuple[str, ...] = ()
    """Folders with its modules."""

    def merged_with(self, other: UserCode) -> UserCode:
        """The union of both."""
        folders = dict.fromkeys((*self.search_path, *other.search_path))
        return UserCode((*self.sha256, *other.sha256), tuple(folders))

    def environment(self) -> dict[str, str]:
        """The environment of a child process that may execute this code and no other.

        Child processes do not search the working directory first (`python -P`), where a file could
        shadow an installed package. It is searched last, for the modules of this code.
        """
        kept = {k: v for k, v in os.environ.items() if k not in (SHA256_VARIABLE, PATH_VARIABLE)}
        if not self.sha256:
            return kept
        search_path = list(self.search_path)
        with contextlib.suppress(OSError):  # the working directory was removed
            search_path.append(str(Path.cwd()))
        return {
            **kept,
            SHA256_VARIABLE: " ".join(self.sha256),
            PATH_VARIABLE: os.pathsep.join(dict.fromkeys(search_path)),
        }


def sha256_of(content: bytes) -> str:
    """SHA-256 of `content`, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def may_run(content: bytes) -> bool:
    """Whether the parent process allowed this process to execute `content`."""
    return sha256_of(content) in os.environ.get(SHA256_VARIABLE, "").split()


def unpickle(content: bytes) -> Any:
    """Unpickle `content`.

    Raises:
        PermissionError: the parent process did not allow this pickle.
    """
    if not may_run(content):
        raise PermissionError(
            "a pickle can execute arbitrary code; only the worker of its own run reads it"
        )
    use_search_path()
    import cloudpickle

    return cloudpickle.loads(content)


def use_search_path() -> None:
    """Add the folders of the allowed code to `sys.path`."""
    for folder in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if folder:
            add_to_search_path(folder)


def add_to_search_path(folder: str) -> None:
    """Append `folder` to `sys.path`; at the end, so that it does not shadow installed packages."""
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
