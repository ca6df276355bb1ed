"""Starts one process and ends it when it must end: `python -I -S watchdog.py WATCH`.

Native code can hold the interpreter's lock for ever, and with it every thread that would watch over
a worker from inside. So this small process is the parent of the worker and holds its limits from
outside: the memory limit, a parent that is gone, a stop that is not heeded, a folder that was
removed. It says in the run's summary why it had to end the worker, or how the worker died. On Linux
the worker dies with it (PR_SET_PDEATHSIG).

It is run as a file, without site-packages, and imports the standard library alone: it starts in
30 ms and takes 11 MB.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

POLL_S = 0.1
MEMORY_POLL_S = 0.05 if sys.platform == "linux" else 0.5
"""Between two looks at the resident set: microseconds on Linux, a call of `ps` elsewhere."""
STOP_GRACE_S = 30.0
"""From a stop to SIGTERM, unless a checkpoint is being written."""
KILL_AFTER_S = 5.0
"""From SIGTERM to SIGKILL, once the time to stop in is over."""
EXIT_UNWRITABLE = 74
EXIT_NOT_STARTED = 127

_STOP = 2
"""The first field of control.bin where a stop is wanted; see workbench/run_folder/control.py."""


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
        return [sys.executable, "-I", "-S", str(Path(__file__).absolute()), watch]


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
            self._control = os.open(self._folder / "control.bin", os.O_RDONLY)
        self._worker = _start(watch.command)
        self._memory = ResidentSet(self._worker.pid)
        self._poll_s = POLL_S if watch.memory_limit_bytes is None else MEMORY_POLL_S
        self._summary: dict[str, Any] = {}
        """What to write if the worker leaves no summary; empty: how it died."""
        self._deadline: float | None = None
        self._saving: object = None
        self._terminated = False

    def run(self) -> int:
        """Exit status of the process, negative for a signal."""
        while self._worker.poll() is None:
            came, _, _ = select.select([self._signals], [], [], self._poll_s)
            self._look(os.read(self._signals, 256) if came else b"")
        # What the worker had started itself goes with it.
        with contextlib.suppress(OSError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        status = self._worker.returncode
        if self._folder is not None:
            if not self._folder_exists():
                return EXIT_UNWRITABLE
            remove_unfinished(self._folder)
            write_summary(self._watch, status, self._summary)
        return status

    def _look(self, received: bytes) -> None:
        watch = self._watch
        if watch.parent is not None and os.getppid() != watch.parent:
            self._interrupt(signal.SIGHUP, "The process that started it is gone.")
        elif signal.SIGTERM in received or signal.SIGHUP in received:
            self._interrupt(signal.SIGTERM, "It was told to end by SIGTERM.")
        if self._control is not None and self._folder is not None:
            if not self._folder_exists():
                _say(f"{self._folder} was removed while its run trained.")
                self._kill()
            elif self._deadline is None and _stop_is_wanted(self._control):
                self._give_time("stopped", "")
        if watch.memory_limit_bytes is not None:
            self._hold_memory(watch.memory_limit_bytes)
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._force()

    def _interrupt(self, number: signal.Signals, reason: str) -> None:
        if self._folder is None:
            self._kill()
        elif self._deadline is None:
            _say(reason)
            self._worker.send_signal(number)
            self._give_time("interrupted", reason)

    def _give_time(self, status: str, reason: str) -> None:
        self._deadline = time.monotonic() + self._watch.grace_s
        self._summary = {"status": status, "reason": reason, "error": None}

    def _force(self) -> None:
        """The time is over. While a checkpoint is being written there is more."""
        saving = _unfinished_sizes(self._folder)
        if saving and saving != self._saving:
            self._saving = saving
            self._deadline = time.monotonic() + self._watch.grace_s
        elif not self._terminated:
            self._terminated = True
            self._worker.send_signal(signal.SIGTERM)
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
        if resident_bytes <= limit_bytes or self._worker.poll() is not None:
            return
        size, unit = (10**6, "MB") if limit_bytes >= 10**7 else (1, "bytes")
        message = (
            f"The worker's resident memory reached {resident_bytes // size:,} {unit}, over its "
            f"limit of {limit_bytes // size:,} {unit}. Raise memory_limit_bytes or lower the batch "
            "size."
        )
        _say(message)
        error = {"type": "MemoryLimit", "message": message, "traceback": ""}
        peak_bytes = max(resident_bytes, self._memory.peak_bytes())
        self._summary = {"status": "failed", "error": error, "peak_rss_bytes": peak_bytes}
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        self._worker.wait()

    def _folder_exists(self) -> bool:
        return self._folder is not None and (self._folder / "control.bin").exists()


class ResidentSet:
    """Memory of another process, in bytes."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._statm: int | None = None
        if sys.platform == "linux":
            self._statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY)

    def bytes(self) -> int:
        """Resident set now; 0 where the process has ended."""
        try:
            if self._statm is not None:
                return int(os.pread(self._statm, 128, 0).split()[1]) * resource.getpagesize()
            asked = ["ps", "-o", "rss=", "-p", str(self._pid)]
            return int(subprocess.run(asked, capture_output=True, check=False).stdout) * 1024
        except (OSError, IndexError, ValueError):
            return 0

    def peak_bytes(self) -> int:
        """Largest resident set so far; 0 where the system does not say."""
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{self._pid}/status").read_text(encoding="ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0


def describe_death(log: Path, exit_status: int) -> dict[str, str]:
    """Why a worker that left no summary ended, from its exit status and the end of its log."""
    kind = "Exit"
    message = f"The worker ended with exit status {exit_status} and no summary."
    if exit_status < 0:
        kind = signal.Signals(-exit_status).name
        hint = {
            "SIGKILL": " Something ended it from outside; often the system, out of memory.",
            "SIGSEGV": " Native code crashed.",
            "SIGFPE": " Native code crashed: ONNX Runtime does so on some graphs.",
            "SIGABRT": " Native code gave up.",
        }.get(kind, "")
        message = f"The worker was ended by {kind}.{hint}"
    elif exit_status == EXIT_UNWRITABLE:
        message = "The worker ended because it could not write its folder: is the disk full?"
    elif exit_status == EXIT_NOT_STARTED:
        message = "The worker process could not be started."
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
    return {"type": kind, "message": message, "traceback": "\n".join(lines)}


def write_summary(watch: Watch, exit_status: int, summary: dict[str, Any]) -> None:
    """Write `summary`, or how the worker died where that is empty, unless it left one itself."""
    folder = Path(watch.folder or "")
    path = folder / "summary.json"
    if path.exists():
        return
    if not summary:
        error = describe_death(folder / "worker.log", exit_status)
        summary = {"status": "failed", "error": error}
    text = json.dumps({"engine": watch.engine, **summary, "ended": time.time()}, indent=1)
    temporary = folder / ".summary.json.watchdog"
    with contextlib.suppress(OSError):  # where the disk is full, the exit status tells `Run.error`
        os.truncate(folder / "watchdog.lock", 0)  # which was written to leave room for this
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)


def remove_unfinished(folder: Path) -> None:
    """Remove what a worker that is dead was writing: checkpoints that are not whole."""
    for unfinished in (folder / "checkpoints").glob(".step-*"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    me = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_me() -> None:
        if libc is not None:
            libc.prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
            if os.getppid() != me:
                os._exit(1)

    # This process has one thread: nothing that the new one needs can be locked.
    return subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_me)  # noqa: PLW1509


def _stop_is_wanted(control: int) -> bool:
    return int.from_bytes(os.pread(control, 8, 0), sys.byteorder) == _STOP


def _unfinished_sizes(folder: Path | None) -> list[tuple[str, int]]:
    """Name and size of each file of a checkpoint that is being written."""
    files = sorted(folder.glob("checkpoints/.step-*/**/*")) if folder else []
    with contextlib.suppress(OSError):
        return [(str(path), path.stat().st_size) for path in files]
    return []


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def main() -> None:
    """End as the process did: with its exit status, or by its signal."""
    watch = Watch(**json.loads(sys.argv[1]))
    try:
        status = Watchdog(watch).run()
    except OSError as error:
        _say(f"{watch.command[0]} cannot be started: {error}")
        if watch.folder is not None:
            write_summary(watch, EXIT_NOT_STARTED, {})
        sys.exit(EXIT_NOT_STARTED)
    if status >= 0:
        sys.exit(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)


if __name__ == "__main__":
    main()
