"""The user code that an export ran and the files that it read, by their content.

The exporting process records what it loaded; the next one checks whether all of it is unchanged.
Files of installed packages count by the package's version, see `key`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from workbench.user_code.user_code import PATH_VARIABLE

LARGEST_BYTES = 1 << 28
"""A larger file is not read for its digest: what read it is not cached."""

ABSENT = ""

_CLOCK_S = 0.1
"""No file system's clock is further behind."""

_SYSTEM = ("/proc/", "/sys/", "/dev/")
_CODE = (".py", ".so", ".pyc")


class CodeUsed(BaseModel):
    """Files by their digest. Empty: no code but the workbench's own."""

    files: dict[str, str] = {}
    """Absolute path -> SHA-256 of the content, or `ABSENT`: that there is none decides as well."""
    folders: dict[str, str] = {}
    """Absolute path of a folder where Python looks for modules -> digest of the names of those
    that it would find: another may hide one that was loaded."""

    def is_unchanged(self) -> bool:
        """Whether all files and folders are as they were."""
        return all(_digest(path) == was for path, was in self.files.items()) and all(
            _listing(path) == was for path, was in self.folders.items()
        )


class CodeRecorder:
    """Notes every file that this process opens, from now until its end."""

    def __init__(self, ignored: tuple[Path, ...]) -> None:
        """Begin.

        Args:
            ignored: folders whose content is known otherwise.
        """
        self._started = time.time() - _CLOCK_S
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._connected = False
        self._ignored = (*(f"{folder}{os.sep}" for folder in (*_roots(), *ignored)), *_SYSTEM)
        # There is no way to remove it: this is for a process that does one export.
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str | bytes):
                reads = "r" in mode if mode else flags & os.O_ACCMODE == os.O_RDONLY
                (self._read if reads else self._written).add(_absolute(os.fsdecode(path)))
        elif event == "socket.connect":
            self._connected = True

    def code_used(self) -> CodeUsed | str:
        """Files and folders used so far, or a sentence that says why they are unknown."""
        if self._connected:
            return "The model's code used the network."
        loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        paths = {_absolute(path) for path in loaded if path}
        paths |= {_source(path) for path in self._read - self._written}
        files, folders = {}, set()
        for path in sorted(paths):
            if self._is_ignored(path) or Path(path).is_dir():
                continue
            digest = _digest(path)
            if digest is None:
                return f"The model's code read {path}, which is not a regular file or is too large."
            if digest != ABSENT and Path(path).stat().st_mtime >= self._started:
                return f"{path}, which the model's code read, was being changed."
            files[path] = digest
            if path.endswith(_CODE):
                folders.add(str(Path(path).parent))
        folders |= set(filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)))
        return CodeUsed(files=files, folders={each: _listing(each) for each in sorted(folders)})

    def _is_ignored(self, path: str) -> bool:
        return path.startswith(self._ignored) or os.path.realpath(path).startswith(self._ignored)


def own_packages() -> tuple[Path, ...]:
    """The folders of the workbench's code."""
    here = Path(__file__).resolve().parents[1]
    return here, here.parent / "sample_models"


def _roots() -> Iterator[str]:
    """Where the standard library, installed packages and the workbench lie."""
    paths = sysconfig.get_paths()
    installed = (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    for path in (*map(str, own_packages()), *installed):
        yield _absolute(path)
        yield os.path.realpath(path)


def _absolute(path: str) -> str:
    """`path` from the root, without access to the file system, which would be recorded in turn."""
    return os.path.abspath(path)  # noqa: PTH100 -- pathlib keeps ".."


def _source(path: str) -> str:
    """The source of a file in which Python caches bytecode; any other path as it is."""
    if path.endswith(".pyc"):
        try:
            return importlib.util.source_from_cache(path)
        except ValueError:
            pass
    return path


def _digest(path: str) -> str | None:
    """SHA-256 of a regular file of moderate size, or `ABSENT`; None of anything else."""
    file = Path(path)
    try:
        if not file.exists():
            return ABSENT
        if not file.is_file() or file.stat().st_size > LARGEST_BYTES:
            return None
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def _listing(path: str) -> str:
    """A digest of the names in a folder that Python may import."""
    try:
        names = sorted(file.name for file in Path(path).iterdir())
    except OSError:
        names = []
    found = [name for name in names if name.endswith(_CODE) or name.isidentifier()]
    return hashlib.sha256("\0".join(found).encode(errors="surrogateescape")).hexdigest()
