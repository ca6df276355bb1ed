"""Code of the user's own: what a process may run of it, and the only place that unpickles.

A record on disk never makes a process run code. The process that was given a module, a factory or a
function in a call writes down which code that is, and names its SHA-256 and where its files lie in
the environment of the worker that it starts at once; a worker runs nothing else.
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
"""Environment variable: the SHA-256, in hexadecimal, of each piece of code that may run."""

PATH_VARIABLE = "WORKBENCH_CODE_PATH"
"""Environment variable: the folders in which that code finds its own modules."""


class UserCode(NamedTuple):
    """Code that a process started by this one may run."""

    sha256: tuple[str, ...] = ()
    """Of each pickle, and of the text "package.module:factory" for a factory."""
    search_path: tuple[str, ...] = ()
    """Folders in which Python finds its modules."""

    def and_that(self, other: UserCode) -> UserCode:
        """Both."""
        folders = dict.fromkeys((*self.search_path, *other.search_path))
        return UserCode((*self.sha256, *other.sha256), tuple(folders))

    def environment(self) -> dict[str, str]:
        """This process's environment, with which a child may run this code and no other.

        A process of ours does not search the working directory (`python -P`), where anything may
        lie under the name of an installed package. The code finds its own modules there all the
        same, after everything else.
        """
        kept = {k: v for k, v in os.environ.items() if k not in (SHA256_VARIABLE, PATH_VARIABLE)}
        if not self.sha256:
            return kept
        search_path = list(self.search_path)
        with contextlib.suppress(OSError):  # the working directory is gone
            search_path.append(str(Path.cwd()))
        return {
            **kept,
            SHA256_VARIABLE: " ".join(self.sha256),
            PATH_VARIABLE: os.pathsep.join(dict.fromkeys(search_path)),
        }


def sha256_of(content: bytes) -> str:
    """In hexadecimal digits, as `UserCode` has it."""
    return hashlib.sha256(content).hexdigest()


def may_run(content: bytes) -> bool:
    """Whether the process that started this one lets it run `content`."""
    return sha256_of(content) in os.environ.get(SHA256_VARIABLE, "").split()


def unpickle(content: bytes) -> Any:
    """What was pickled.

    Raises:
        PermissionError: the process that started this one did not name this very pickle.
    """
    if not may_run(content):
        raise PermissionError("a pickle may run any code; it is read only by the worker of its run")
    use_search_path()
    import cloudpickle

    return cloudpickle.loads(content)


def use_search_path() -> None:
    """Let Python find the modules of the code that may run, for the rest of this process."""
    for folder in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if folder:
            add_to_search_path(folder)


def add_to_search_path(folder: str) -> None:
    """Let `folder` be searched, after everything else so that it shadows nothing installed."""
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
