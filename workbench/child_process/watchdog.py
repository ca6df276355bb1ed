"""A watchdog process: starts one worker process and enforces its limits.

Native code can hold the GIL indefinitely, which blocks every monitoring thread inside the worker.
So this small process is the worker's parent and enforces the limits from outside: the memory limit,
a parent process that has exited, an ignored stop request, a removed run folder. It writes to the
run's summary why it ended the worker, or how the worker crashed. On Linux the kernel kills the
worker if the watchdog dies (PR_SET_PDEATHSIG).

It runs without site-packages and without `workbench/__init__.py`, and imports only the standard
library and modules of this folder: it starts in 30 ms and uses 11 MB.
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

from workbench.child_process.exit_reason import EXIT_NOT_STARTED, EXIT_UNWRITABLE, exit_summary
from workbench.child_process.resident_set import ResidentSet
from workbench.run_folder.worker_exit import (
    failed,
    over_memory_limit,
    remove_unfinished,
    unfinished_sizes,
    write_summary,
)

POLL_S = 0.1
MEMORY_POLL_S = 0.05 if sys.platform == "linux" else 0.5
"""Polling interval of the resident set: fast to read on Linux, a call of `ps` elsewhere."""
REMOVAL_S = 1.0
"""Longest time that removing a run folder may take, from control.bin to spec.json."""
STOP_GRACE_S = 30.0
"""Time from a stop request to SIGTERM; longer while a checkpoint is being written."""
KILL_AFTER_S = 5.0
"""Time from SIGTERM to SIGKILL, after the grace period."""

_STOP = 2
"""First field of control.bin for a stop request; see workbench/run_folder/control.py."""


_PROGRAM = """
import sys, types
package = sys.modules["workbench"] = types.ModuleType("workbench")
package.__path__ = [sys.argv[2]]
from workbench.child_process.watchdog import main
main()
"""
"""Imports this file without `workbench/__init__.py`."""


class Watch(NamedTuple):
    """The process to start and its limits; passed as JSON on the command line."""

    command: list[str]
    parent: int | None
    """Id of the process whose exit ends the worker; None: the worker is detached."""
    folder: str | None = None
    """The run folder; None: a process that has nothing to save and is killed at once."""
    engine: str = ""
    memory_limit_bytes: int | None = None
    """Largest resident set."""
    grace_s: float = STOP_GRACE_S
    cores: int | None = None
    """How many cores the process may use, where the system has CPU affinity; None: all."""

    def arguments(self) -> list[str]:
        """The command that starts the watchdog."""
        watch = json.dumps(self._asdict())
        package = str(Path(__file__).absolute().parents[1])
        return [sys.executable, "-I", "-S", "-c", _PROGRAM, watch, package]


class CannotStartError(Exception):
    """The worker process cannot be started."""


class Watchdog:
    """Monitors one worker process until it has exited."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._folder = Path(watch.folder) if watch.folder else None
        self._signals, sender = os.pipe()
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        # SIGINT is left to the parent. With handlers, as the worker would inherit SIG_IGN.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._control: int | None = None
        if self._folder is not None:
            # The worker itself reports a missing or invalid control file.
            with contextlib.suppress(OSError):
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
                self._control = os.open(self._folder / "control.bin", flags)
        self._worker = _start(watch.command, watch.cores)
        self._sent: set[int] = set()
        """Signals sent to the worker to end it."""
        self._memory = ResidentSet(self._worker.pid)
        self._poll_s = POLL_S if watch.memory_limit_bytes is None else MEMORY_POLL_S
        self._summary: dict[str, Any] = {}
        """Written if the worker leaves no summary and exited with 0 or by a signal sent here."""
        self._deadline: float | None = None
        self._checkpoint_progress: object = None
        self._terminated = False

    def run(self) -> int:
        """Exit status of the process, negative for a signal."""
        last_error = ""
        while not self._has_exited():
            readable, _, _ = select.select([self._signals], [], [], self._poll_s)
            try:
                self._check_limits(os.read(self._signals, 256) if readable else b"")
            except OSError as error:  # no reason to end the worker
                if str(error) != last_error:
                    _log(f"The watchdog continues after an error: {error}")
                last_error = str(error)
        # Kills the worker's descendants as well. Until the worker is reaped, its process group id
        # cannot be reused.
        with contextlib.suppress(OSError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        status = self._worker.wait()
        if self._folder is not None:
            if not (self._folder / "spec.json").exists():
                return EXIT_UNWRITABLE
            remove_unfinished(self._folder)
            expected = status == 0 or -status in self._sent
            summary = self._summary if expected else {}
            write_summary(
                self._folder, self._watch.engine, summary or exit_summary(self._folder, status)
            )
        return status

    def _has_exited(self, *, wait: bool = False) -> bool:
        """Whether the worker has exited; on Linux it is not reaped."""
        if sys.platform == "linux" and self._worker.returncode is None:
            options = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
            return os.waitid(os.P_PID, self._worker.pid, options) is not None
        return (self._worker.wait() if wait else self._worker.poll()) is not None

    def _send(self, number: signal.Signals) -> None:
        if not self._has_exited():
            self._sent.add(number)
            os.kill(self._worker.pid, number)

    def _check_limits(self, received: bytes) -> None:
        watch = self._watch
        if watch.parent is not None and os.getppid() != watch.parent:
            self._interrupt(signal.SIGHUP, "The process that started the run has exited.")
        elif signal.SIGTERM in received or signal.SIGHUP in received:
            self._interrupt(signal.SIGTERM, "The run received SIGTERM.")
        if self._control is not None and self._folder is not None:
            if not _is_same_file(self._control, self._folder / "control.bin"):
                self._end_removed_run(self._folder)
                return
            stop = _stop_requested(self._control)
            if stop and self._deadline is None:
                self._start_grace_period("stopped", "")
            elif not stop and self._summary.get("status") == "stopped" and not self._terminated:
                self._deadline, self._summary = None, {}
        if watch.memory_limit_bytes is not None:
            self._check_memory(watch.memory_limit_bytes)
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._end_grace_period()

    def _interrupt(self, number: signal.Signals, reason: str) -> None:
        if self._folder is None:
            self._kill()
        elif self._deadline is None:
            _log(reason)
            self._send(number)
            self._start_grace_period("interrupted", reason)

    def _start_grace_period(self, status: str, reason: str) -> None:
        self._deadline = time.monotonic() + self._watch.grace_s
        self._summary = {"status": status, "reason": reason, "error": None}

    def _end_grace_period(self) -> None:
        """Send SIGTERM, then SIGKILL; extend the period while a checkpoint is being written."""
        progress = unfinished_sizes(self._folder) if self._folder else []
        if progress and progress != self._checkpoint_progress:
            self._checkpoint_progress = progress
            self._deadline = time.monotonic() + self._watch.grace_s
        elif not self._terminated:
            self._terminated = True
            self._send(signal.SIGTERM)
            self._deadline = time.monotonic() + min(KILL_AFTER_S, self._watch.grace_s)
        else:
            killed = (
                f"The worker did not stop within {self._watch.grace_s:g} s and was killed; the "
                "steps after its last checkpoint are lost."
            )
            _log(killed)
            self._summary["reason"] = f"{self._summary['reason']} {killed}".strip()
            self._kill()

    def _check_memory(self, limit_bytes: int) -> None:
        # The recorded peak: one that has passed since the last look counts as well.
        peak_bytes = self._memory.peak_bytes() or self._memory.bytes()
        if peak_bytes <= limit_bytes or self._has_exited():
            return
        self._summary = {
            **over_memory_limit(peak_bytes, limit_bytes),
            "peak_rss_bytes": peak_bytes,
        }
        _log(self._summary["error"]["message"])
        self._kill()

    def _end_removed_run(self, folder: Path) -> None:
        """Kill a worker whose control file is gone: usually the whole folder is being removed."""
        self._kill()
        deadline = time.monotonic() + REMOVAL_S
        while (folder / "spec.json").exists() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        if (folder / "spec.json").exists():
            message = f"{folder / 'control.bin'} was removed or replaced during the run."
            self._summary = failed("Removed", message)
        else:
            message = f"{folder} was removed during the run."
        _log(message)

    def _kill(self) -> None:
        if not self._has_exited():
            self._sent.add(signal.SIGKILL)
            os.killpg(self._worker.pid, signal.SIGKILL)
            self._has_exited(wait=True)


def _start(command: list[str], cores: int | None) -> subprocess.Popen[bytes]:
    watchdog = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_watchdog() -> None:
        if libc is not None:
            libc.prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
            if os.getppid() != watchdog:
                os._exit(1)
        if cores is not None and sys.platform == "linux":
            # Before the first thread of a library: each keeps the affinity that it began with.
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

    # preexec_fn is safe here: this process has a single thread, so no lock can be held.
    try:
        return subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_watchdog)  # noqa: PLW1509
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotStartError(str(error)) from error


def _is_same_file(descriptor: int, path: Path) -> bool:
    """Whether `path` is still the open file; True if this cannot be determined."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _stop_requested(control: int) -> bool:
    with contextlib.suppress(OSError):
        return int.from_bytes(os.pread(control, 8, 0), sys.byteorder) == _STOP
    return False


def _log(message: str) -> None:
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def main() -> None:
    """Run the watchdog; exit with the status of the worker, or by the same signal."""
    watch = Watch(**json.loads(sys.argv[1]))
    try:
        watchdog = Watchdog(watch)
    except CannotStartError as error:
        _log(f"{watch.command[0]} cannot be started: {error}")
        if watch.folder is not None:
            folder = Path(watch.folder)
            write_summary(folder, watch.engine, exit_summary(folder, EXIT_NOT_STARTED))
        sys.exit(EXIT_NOT_STARTED)
    status = watchdog.run()
    if status >= 0:
        sys.exit(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
