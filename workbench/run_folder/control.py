"""What the watchers of a run want of its worker: 16 bytes that both sides map or write.

A worker reads its wishes before every step. That costs no system call, which would slow the
shortest steps by a tenth for what it takes out of the processor's caches.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from typing import Literal, NamedTuple

from workbench.errors import RunFolderError
from workbench.files.regular_file import open_regular

Wish = Literal["run", "pause", "stop"]

_WISHES: tuple[Wish, ...] = ("run", "pause", "stop")
_STATE_OFFSET = 0
_GRANT_OFFSET = 8
_NO_LIMIT = 2**63 - 1
_FIELD = struct.Struct("@q")
_BOTH = struct.Struct("@qq")

FIRST_POLL_S = 0.002
LONGEST_POLL_S = 0.05
POLL_GROWTH = 1.1


class Wishes(NamedTuple):
    """What is wanted now."""

    state: Wish
    granted_steps: int
    """How many steps the worker may take in all; a very large number where there is no limit.

    To finish (evaluate, write the last checkpoint, end) is granted as one step more than it takes.
    """


def create_control(path: Path, granted_steps: int | None) -> None:
    """Write a new control file that says: run, up to `granted_steps` (None: without limit)."""
    path.write_bytes(_BOTH.pack(0, _NO_LIMIT if granted_steps is None else granted_steps))


def want(path: Path, state: Wish) -> None:
    """Say what the worker is to do from its next step on.

    Raises:
        RunFolderError: something else is in the place of the control file.
    """
    _write(path, _STATE_OFFSET, _WISHES.index(state))


def grant(path: Path, steps: int) -> None:
    """Allow the worker `steps` steps in all.

    Raises:
        RunFolderError: something else is in the place of the control file.
    """
    _write(path, _GRANT_OFFSET, steps)


class Poll:
    """Sleeps between two looks for something: the longer it has not come, the longer.

    Each sleep is a tenth of the wait so far, so that who waits long takes next to nothing from the
    cores, and who waits briefly is hardly late.
    """

    def __init__(self) -> None:
        self._next_s = FIRST_POLL_S

    def sleep(self) -> None:
        time.sleep(self._next_s)
        self._next_s = min(self._next_s * POLL_GROWTH, LONGEST_POLL_S)


class ControlReader:
    """The worker's view of the control file, mapped into its memory.

    Raises:
        RunFolderError: there is none, or something else in its place.
    """

    def __init__(self, path: Path) -> None:
        try:
            file = _open(path, os.O_RDONLY)
        except FileNotFoundError:
            raise RunFolderError(
                f"{path} is missing: nobody could steer the worker without it. Start a new run."
            ) from None
        try:
            mapped = mmap.mmap(file, _BOTH.size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        # State and granted steps as native integers: they are read before every step.
        self._fields = memoryview(mapped).cast("q")

    def read(self) -> Wishes:
        state, granted_steps = self._fields
        return Wishes(_WISHES[state], granted_steps)

    def granted(self, done_steps: int) -> bool:
        """Whether the step after `done_steps` is granted, be it that a watcher wants a pause."""
        return done_steps < self._fields[1]

    def may_step(self, done_steps: int) -> bool:
        """Whether nothing stands against the step after `done_steps`."""
        fields = self._fields
        return fields[0] == 0 and done_steps < fields[1]


def _write(path: Path, offset: int, value: int) -> None:
    # One aligned field in one write: a reader sees the old value or the new one.
    try:
        file = _open(path, os.O_WRONLY)
    except FileNotFoundError:
        return  # the run folder was removed, which ends its worker
    try:
        os.pwrite(file, _FIELD.pack(value), offset)
    finally:
        os.close(file)


def _open(path: Path, flags: int) -> int:
    try:
        file = open_regular(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunFolderError(
            f"{path} cannot be used as the control file of a run: {error.strerror or error}. It "
            "must be a regular file that the workbench wrote, and no link."
        ) from None
    size_bytes = os.fstat(file).st_size
    if size_bytes == _BOTH.size:
        return file
    os.close(file)
    raise RunFolderError(
        f"{path} has {size_bytes} bytes; a control file of the workbench has {_BOTH.size}."
    )
