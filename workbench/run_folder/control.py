"""The control file: 24 bytes by which clients pause, resume or stop a worker, grant it steps and
request checkpoints.

The worker maps the file into memory and reads it before every step: a system call would slow the
shortest steps by a tenth, because it evicts data from the CPU caches.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Literal, NamedTuple

from workbench.errors import RunFolderError
from workbench.files.regular_file import open_regular

RequestedState = Literal["run", "pause", "stop"]

_STATES: tuple[RequestedState, ...] = ("run", "pause", "stop")
_STATE_OFFSET = 0
_GRANT_OFFSET = 8
_SAVES_OFFSET = 16
NO_LIMIT = 2**63 - 1
"""Granted steps of a run that may take all of its steps."""
_FIELD = struct.Struct("@q")
_ALL = struct.Struct("@qqq")
_OLDER_BYTES = 16
"""Size of the control file of an older version, without requests of checkpoints."""

FIRST_POLL_S = 0.002
LONGEST_POLL_S = 0.05
POLL_GROWTH = 1.1


class Command(NamedTuple):
    """The content of the control file."""

    state: RequestedState
    granted_steps: int
    """Total number of steps that the worker may take; a very large number if there is no limit.

    One step more than the run has permits it to finish: evaluate, write the last checkpoint, exit.
    """


def create_control(path: Path, granted_steps: int | None) -> None:
    """Create a control file with state "run" and `granted_steps` (None: no limit)."""
    path.unlink(missing_ok=True)  # of a symbolic link, the link itself
    with path.open("xb") as file:
        file.write(_ALL.pack(0, NO_LIMIT if granted_steps is None else granted_steps, 0))


def request_state(path: Path, state: RequestedState) -> None:
    """Request a state, which the worker takes on before its next step.

    Raises:
        RunFolderError: the control file is not a file that the workbench wrote.
    """
    _write(path, _STATE_OFFSET, _STATES.index(state))


def requested_state(path: Path) -> RequestedState:
    """The state that was requested last.

    Raises:
        RunFolderError: there is no control file, or none that the workbench wrote.
    """
    return ControlReader(path).read().state


def grant(path: Path, steps: int) -> None:
    """Grant the worker `steps` steps in total.

    Raises:
        RunFolderError: the control file is not a file that the workbench wrote.
    """
    _write(path, _GRANT_OFFSET, steps)


def request_save(path: Path) -> int:
    """Request a checkpoint. Returns the number of the request, which its "saved" event has.

    Raises:
        RunFolderError: the control file is missing or not a control file.
    """
    try:
        file = _open(path, os.O_RDWR)
    except FileNotFoundError:
        raise RunFolderError(f"{path} is missing: the run folder was removed.") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        (requested,) = _FIELD.unpack(os.pread(file, _FIELD.size, _SAVES_OFFSET))
        os.pwrite(file, _FIELD.pack(requested + 1), _SAVES_OFFSET)
    finally:
        os.close(file)
    return int(requested) + 1


class Poll:
    """Sleeps between polls with exponential backoff, up to `LONGEST_POLL_S`.

    Short waits have little latency, and long waits use almost no CPU time.
    """

    def __init__(self) -> None:
        self._next_s = FIRST_POLL_S

    def sleep(self) -> None:
        time.sleep(self._next_s)
        self._next_s = min(self._next_s * POLL_GROWTH, LONGEST_POLL_S)


class ControlReader:
    """The control file, mapped into the memory of the worker.

    Raises:
        RunFolderError: there is none, or it is not a file that the workbench wrote.
    """

    def __init__(self, path: Path) -> None:
        try:
            file = _open(path, os.O_RDONLY)
        except FileNotFoundError:
            raise RunFolderError(
                f"{path} is missing, so the run could not be stopped. Start a new run."
            ) from None
        try:
            mapped = mmap.mmap(file, _ALL.size, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        # Native integers: state, granted steps and requested saves are read before every step.
        self._fields = memoryview(mapped).cast("q")

    def read(self) -> Command:
        state, granted_steps, _ = self._fields
        return Command(_STATES[state], granted_steps)

    def granted(self, done_steps: int) -> bool:
        """Whether the step after `done_steps` is granted, independently of the requested state."""
        return done_steps < self._fields[1]

    def requested_saves(self) -> int:
        """Number of checkpoints requested so far."""
        return self._fields[2]

    def may_step(self, done_steps: int) -> bool:
        """Whether the step after `done_steps` is granted and the requested state is "run"."""
        fields = self._fields
        return fields[0] == 0 and done_steps < fields[1]


def _write(path: Path, offset: int, value: int) -> None:
    # One aligned field in one write: a reader sees the old value or the new one.
    try:
        file = _open(path, os.O_WRONLY, (_ALL.size, _OLDER_BYTES))
    except FileNotFoundError:
        return  # the run folder was removed, which ends the worker
    try:
        os.pwrite(file, _FIELD.pack(value), offset)
    finally:
        os.close(file)


def _open(path: Path, flags: int, sizes: tuple[int, ...] = (_ALL.size,)) -> int:
    try:
        file = open_regular(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunFolderError(
            f"{path} cannot be used as the control file of a run: {error.strerror or error}. It "
            "must be a regular file that the workbench wrote, not a link."
        ) from None
    size_bytes = os.fstat(file).st_size
    if size_bytes in sizes:
        return file
    os.close(file)
    raise RunFolderError(
        f"{path} has {size_bytes} bytes; a control file of the workbench has {_ALL.size}."
    )
