"""Starts one process and ends it when it must end.

Native code can hold the interpreter's lock for ever, and with it every thread that would watch over
a worker from inside. So this small process is the parent of the worker and holds its limits from
outside: the memory limit, a parent that is gone, a stop that is not heeded, a folder that was
removed. It says in the run's summary why it had to end the worker, or how the worker died. On Linux
the worker dies with it (PR_SET_PDEATHSIG).

It runs without site-packages and without the start of this package, and imports the standard
library and its neighbours alone: it starts in 30 ms and takes 11 MB.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from workbench.child_process.resident_set import ResidentSet
from workbench.child_process.worker_end import (
    EXIT_NOT_STARTED,
    EXIT_UNWRITABLE,
    failed,
    remove_unfinished,
    unfinished_sizes,
    write_summary,
)

POLL_S = 0.1
MEMORY_POLL_S = 0.05 if sys.platform == "linux" else 0.5
"""Between two looks at the resident set: microseconds on Linux, a call of `ps` elsewhere."""
REMOVAL_S = 1.0
"""What a folder may take to be removed, from control.bin to spec.json."""
STOP_GRACE_S = 30.0
"""From a stop to SIGTERM, unless a checkpoint is being written."""
KILL_AFTER_S = 5.0
"""From SIGTERM to SIGKILL, once the time to stop in is over."""

_STOP = 2
"""The first field of control.bin where a stop is wanted; see workbench/run_folder/control.py."""


_PROGRAM = """
import sys, types
package = sys.modules["workbench"] = types.ModuleType("workbench")
package.__path__ = [sys.argv[2]]
from workbench.child_process.watchdog import main
main()
"""
"""Imports this file, but not `workbench/__init__.py`."""


class Watch(NamedTuple):
    """What to start and what to hold it to; JSON on the command line."""

    command: list[str]
    parent: int | None
    """The process whose end is the end of this one; None: it goes on without."""
    folder: str | None = None
    """Of the run; None: a process that has nothing to save, which is ended at once."""
    engine: str = ""
    memory_limit_bytes: int | None = None
    """Largest resident set."""
    grace_s: float = STOP_GRACE_S

    def arguments(self) -> list[str]:
        """The command that starts the watchdog."""
        watch = json.dumps(self._asdict())
        package = str(Path(__file__).absolute().parents[1])
        return [sys.executable, "-I", "-S", "-c", _PROGRAM, watch, package]


class CannotStartError(Exception):
    """There is no process to look after."""


class Watchdog:
    """Looks after one process until it has ended."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._folder = Path(watch.folder) if watch.folder else None
        self._signals, sender = os.pipe()
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        # SIGINT is for the one who started this. A handler: a worker would inherit SIG_IGN.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._control: int | None = None
        if self._folder is not None:
            # Where there is none, or something else, the worker says so itself.
            with contextlib.suppress(OSError):
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
                self._control = os.open(self._folder / "control.bin", flags)
        self._worker = _start(watch.command)
        self._sent: set[int] = set()
        """Signals that this process has ended the worker with, or tried to."""
        self._memory = ResidentSet(self._worker.pid)
        self._poll_s = POLL_S if watch.memory_limit_bytes is None else MEMORY_POLL_S
        self._summary: dict[str, Any] = {}
        """What to write if the worker leaves no summary but ended well, or as it was made to."""
        self._deadline: float | None = None
        self._saving: object = None
        self._terminated = False

    def run(self) -> int:
        """Exit status of the process, negative for a signal."""
        said = ""
        while not self._has_ended():
            came, _, _ = select.select([self._signals], [], [], self._poll_s)
            try:
                self._look(os.read(self._signals, 256) if came else b"")
            except OSError as error:  # a healthy worker does not end for that
                if str(error) != said:
                    _say(f"The watchdog goes on after an error: {error}")
                said = str(error)
        # What the worker had started itself goes with it. As long as it is not reaped, no other
        # group can have its number.
        with contextlib.suppress(OSError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        status = self._worker.wait()
        if self._folder is not None:
            if not (self._folder / "spec.json").exists():
                return EXIT_UNWRITABLE
            remove_unfinished(self._folder)
            as_wanted = status == 0 or -status in self._sent
            write_summary(
                self._folder, self._watch.engine, status, self._summary if as_wanted else {}
            )
        return status

    def _has_ended(self, *, wait: bool = False) -> bool:
        """Whether the worker has ended, which leaves it unreaped where the system can."""
        if sys.platform == "linux" and self._worker.returncode is None:
            how = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
            return os.waitid(os.P_PID, self._worker.pid, how) is not None
        return (self._worker.wait() if wait else self._worker.poll()) is not None

    def _send(self, number: signal.Signals) -> None:
        if not self._has_ended():
            self._sent.add(number)
            os.kill(self._worker.pid, number)

    def _look(self, received: bytes) -> None:
        watch = self._watch
        if watch.parent is not None and os.getppid() != watch.parent:
            self._interrupt(signal.SIGHUP, "The process that started it is gone.")
        elif signal.SIGTERM in received or signal.SIGHUP in received:
            self._interrupt(signal.SIGTERM, "It was told to end by SIGTERM.")
        if self._control is not None and self._folder is not None:
            if not _is_at(self._control, self._folder / "control.bin"):
                self._end_without_control(self._folder)
                return
            stop = _stop_is_wanted(self._control)
            if stop and self._deadline is None:
                self._give_time("stopped", "")
            elif not stop and self._summary.get("status") == "stopped" and not self._terminated:
                self._deadline, self._summary = None, {}
        if watch.memory_limit_bytes is not None:
            self._hold_memory(watch.memory_limit_bytes)
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._force()

    def _interrupt(self, number: signal.Signals, reason: str) -> None:
        if self._folder is None:
            self._kill()
        elif self._deadline is None:
            _say(reason)
            self._send(number)
            self._give_time("interrupted", reason)

    def _give_time(self, status: str, reason: str) -> None:
        self._deadline = time.monotonic() + self._watch.grace_s
        self._summary = {"status": status, "reason": reason, "error": None}

    def _force(self) -> None:
        """The time is over. While a checkpoint is being written there is more."""
        saving = unfinished_sizes(self._folder) if self._folder else []
        if saving and saving != self._saving:
            self._saving = saving
            self._deadline = time.monotonic() + self._watch.grace_s
        elif not self._terminated:
            self._terminated = True
            self._send(signal.SIGTERM)
            self._deadline = time.monotonic() + min(KILL_AFTER_S, self._watch.grace_s)
        else:
            killed = (
                f"The worker did not stop within {self._watch.grace_s:g} s and was killed; what it "
                "trained after its last checkpoint is lost."
            )
            _say(killed)
            self._summary["reason"] = f"{self._summary['reason']} {killed}".strip()
            self._kill()

    def _hold_memory(self, limit_bytes: int) -> None:
        resident_bytes = self._memory.bytes()
        if resident_bytes <= limit_bytes or self._has_ended():
            return
        size, unit = (10**6, "MB") if limit_bytes >= 10**7 else (1, "bytes")
        message = (
            f"The worker's resident memory reached {resident_bytes // size:,} {unit}, over its "
            f"limit of {limit_bytes // size:,} {unit}. Raise memory_limit_bytes or lower the batch "
            "size."
        )
        _say(message)
        peak_bytes = max(resident_bytes, self._memory.peak_bytes())
        self._summary = {**failed("MemoryLimit", message), "peak_rss_bytes": peak_bytes}
        self._kill()

    def _end_without_control(self, folder: Path) -> None:
        """Nobody can steer the worker any more; most often the whole folder is being removed."""
        self._kill()
        removed_by = time.monotonic() + REMOVAL_S
        while (folder / "spec.json").exists() and time.monotonic() < removed_by:
            time.sleep(POLL_S)
        if (folder / "spec.json").exists():
            message = f"{folder / 'control.bin'} was removed or replaced while the run trained."
            self._summary = failed("Removed", message)
        else:
            message = f"{folder} was removed while its run trained."
        _say(message)

    def _kill(self) -> None:
        if not self._has_ended():
            self._sent.add(signal.SIGKILL)
            os.killpg(self._worker.pid, signal.SIGKILL)
            self._has_ended(wait=True)


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    me = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_me() -> None:
        if libc is not None:
            libc.prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
            if os.getppid() != me:
                os._exit(1)

    # This process has one thread: nothing that the new one needs can be locked.
    try:
        return subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_me)  # noqa: PLW1509
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotStartError(str(error)) from error


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still what is called `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # it cannot be told
        return True


def _stop_is_wanted(control: int) -> bool:
    with contextlib.suppress(OSError):
        return int.from_bytes(os.pread(control, 8, 0), sys.byteorder) == _STOP
    return False


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def main() -> None:
    """End as the process did: with its exit status, or by its signal."""
    watch = Watch(**json.loads(sys.argv[1]))
    try:
        watchdog = Watchdog(watch)
    except CannotStartError as error:
        _say(f"{watch.command[0]} cannot be started: {error}")
        if watch.folder is not None:
            write_summary(Path(watch.folder), watch.engine, EXIT_NOT_STARTED, {})
        sys.exit(EXIT_NOT_STARTED)
    status = watchdog.run()
    if status >= 0:
        sys.exit(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
