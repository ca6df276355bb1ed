"""The cache: folders of files by the digest of all that they were made from.

    <folder>/<key>/entry.json    the size and SHA-256 of each file, and the code that made them
    <folder>/<key>/...           the files
    <folder>/locks/              one process makes an entry while others wait for it

The files are untrusted: one is copied only if it is a regular file with the recorded digest, and
none is ever imported, unpickled or executed. A problem with the cache is reported and costs time,
but never fails a run.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from workbench.errors import WorkbenchError
from workbench.export_cache.code_used import CodeUsed
from workbench.files.disk import disk_problem
from workbench.files.regular_file import open_regular
from workbench.files.temporary_folder import remove_abandoned, temporary_folder
from workbench.files.user_cache import UnusableCacheError, cache_folder, check_cache_folder

LIMIT_BYTES = 2 * 10**9
"""Of all entries together; those unused for longest are removed first."""

LONGEST_WAIT_S = 120.0
"""For another process that makes the same entry; then each makes its own."""

FOLDER = "exports"
RECORD = "entry.json"
LOCKS = "locks"

_RECORD_BYTES = 1 << 22
"""No record is longer."""
_CHUNK_BYTES = 1 << 20
_POLL_S = 0.05
_KEY = re.compile("[0-9a-f]{64}")

Report = Callable[[str], None]
"""Takes a sentence about the cache."""


class _FileRecord(BaseModel):
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _EntryRecord(BaseModel):
    key: str
    files: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.]{0,99}$")], _FileRecord]
    code: CodeUsed


class _CorruptError(Exception):
    """An entry is not what was written there."""


class ExportCache(NamedTuple):
    """The cache of this user."""

    folder: Path
    report: Report

    @classmethod
    def of_user(cls, report: Report) -> ExportCache | None:
        """The cache; None where it is turned off or cannot be used, which `report` reports."""
        try:
            folder = cache_folder(FOLDER)
        except UnusableCacheError as error:
            report(str(error))
            return None
        if folder is None:
            return None
        try:
            with contextlib.suppress(OSError):  # it may be there and be read-only
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            check_cache_folder(folder)
        except UnusableCacheError as error:
            report(str(error))
            return None
        except OSError as error:
            report(f"No export is cached: {folder} cannot be used. {_reason(error)}")
            return None
        return cls(folder, report)

    @contextmanager
    def locked(self, key: str, kind: str = "") -> Iterator[None]:
        """Let one process at a time make the entry `key`; a folder that is read-only has no locks.

        Keys of a kind that begin alike share a lock, so that locks do not pile up.
        """
        try:
            (self.folder / LOCKS).mkdir(exist_ok=True, mode=0o700)
            descriptor = open_regular(
                self.folder / LOCKS / f"{kind}{key[:2]}", os.O_RDWR | os.O_CREAT
            )
        except OSError:
            yield
            return
        try:
            self._wait_for(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait_for(self, descriptor: int) -> None:
        until = time.monotonic() + LONGEST_WAIT_S
        reported = False
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not reported:
                    self.report("waiting for another process that exports")
                    reported = True
                time.sleep(_POLL_S)
            except OSError:  # the file system has no locks
                return
            else:
                return

    def take(
        self, key: str, directory: Path, is_complete: Callable[[Path], bool] = lambda _: True
    ) -> bool:
        """Copy the files of the entry `key` into the empty folder `directory`.

        Args:
            key: of the entry.
            directory: an empty folder.
            is_complete: whether what was copied there is what an export makes.

        Returns:
            Whether there is such an entry, whole, made by the code that is there now. If not,
            `directory` is empty.
        """
        entry = self.folder / key
        if not os.path.lexists(entry):
            return False
        try:
            record = _read_record(entry, key)
            if record.code.is_unchanged():
                for name, expected in record.files.items():
                    _copy(entry / name, directory / name, expected)
                _check_complete(directory, is_complete)
                with contextlib.suppress(OSError):
                    os.utime(entry)  # the time of its last use
                return True
        except (OSError, ValueError, _CorruptError) as error:
            reason = _reason(error) if isinstance(error, OSError) else str(error)
            self.report(
                f"The cached export in {entry} is corrupt, so the model is exported again: {reason}"
            )
        for left in directory.iterdir():
            left.unlink()
        self._remove(entry)
        return False

    def store(self, key: str, directory: Path, code: CodeUsed) -> None:
        """Keep copies of the files in `directory`, made by `code`, as the entry `key`."""
        files = sorted(directory.iterdir())
        size = sum(file.stat().st_size for file in files)
        if size > LIMIT_BYTES:
            self.report(
                f"The export is not cached: {size / 1e9:.1f} GB are more than the cache has."
            )
            return
        entry = self.folder / key
        try:
            self._make_room(LIMIT_BYTES - size, kept=entry)
            with temporary_folder(target=entry) as temporary:
                os.utime(temporary)
                found = {file.name: _copy(file, temporary / file.name) for file in files}
                record = _EntryRecord(key=key, files=found, code=code)
                (temporary / RECORD).write_text(record.model_dump_json(), encoding="utf-8")
                self._remove(entry)
                temporary.rename(entry)
        except (OSError, WorkbenchError) as error:
            self.report(f"The export is not cached: {_reason(error)}")

    def contents(self) -> tuple[int, int]:
        """How many entries there are, and how many bytes they take."""
        sizes = [_size(entry) for entry in self._entries()]
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove every entry, and what killed processes left; how many bytes the entries took.

        An entry that cannot be removed counts as far as its files are gone.
        """
        with contextlib.suppress(OSError):
            remove_abandoned(self.folder, ".")
        sizes = {entry: _size(entry) for entry in self._entries()}
        for entry in sizes:
            self._remove(entry)
        return sum(size - _size(entry) for entry, size in sizes.items())

    def _make_room(self, bytes_left: int, kept: Path) -> None:
        """Remove the entries unused for longest until the others take at most `bytes_left`."""
        remove_abandoned(self.folder, ".")
        used = {entry: _last_use(entry) for entry in self._entries() if entry != kept}
        for entry in sorted(used, key=lambda each: used[each], reverse=True):
            size = _size(entry)
            if size > bytes_left:
                self._remove(entry)
            else:
                bytes_left -= size

    def _entries(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if _KEY.fullmatch(path.name)]

    def _remove(self, entry: Path) -> None:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink(missing_ok=True)


def _read_record(entry: Path, key: str) -> _EntryRecord:
    if entry.is_symlink() or not entry.is_dir():
        raise _CorruptError("it is not a folder.")
    with _opened(entry / RECORD) as file:
        content = file.read(_RECORD_BYTES)
    try:
        record = _EntryRecord.model_validate(json.loads(content))
    except (ValidationError, RecursionError) as error:
        raise _CorruptError(f"{RECORD} is not its record.") from error
    if record.key != key:
        raise _CorruptError("it is that of another export.")
    return record


def _copy(source: Path, target: Path, expected: _FileRecord | None = None) -> _FileRecord:
    """Copy a regular file; refuse one that is not as `expected`."""
    digest, size = hashlib.sha256(), 0
    with _opened(source) as file, target.open("xb") as copy:
        while chunk := file.read(_CHUNK_BYTES):
            size += len(chunk)
            if expected is not None and size > expected.bytes:
                break
            digest.update(chunk)
            copy.write(chunk)
    found = _FileRecord(bytes=size, sha256=digest.hexdigest())
    if expected is not None and found != expected:
        raise _CorruptError(f"{source.name} was changed after it was written.")
    return found


def _opened(path: Path) -> BinaryIO:
    return os.fdopen(open_regular(path, os.O_RDONLY), "rb")


def _last_use(entry: Path) -> float:
    try:
        return entry.lstat().st_mtime
    except OSError:
        return 0.0


def _size(entry: Path) -> int:
    size = 0
    with contextlib.suppress(OSError):
        for file in entry.iterdir():
            size += file.lstat().st_size
    return size


def _reason(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return disk_problem(error) or (f"{strerror}." if strerror else str(error))


def _check_complete(directory: Path, is_complete: Callable[[Path], bool]) -> None:
    if not is_complete(directory):
        raise _CorruptError("files of an export are missing.")
