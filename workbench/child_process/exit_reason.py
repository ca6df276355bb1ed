"""Why a process ended, from its exit status and the end of its log.

The watchdog uses it: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import IO

EXIT_UNWRITABLE = 74
EXIT_NOT_STARTED = 127

_TAIL_BYTES = 64 * 1024
"""How much of a log is read for its last lines: a model that prints at every step fills a disk."""
_LOG_LINES = 12


def describe_exit(
    log: Path,
    exit_status: int,
    who: str = "The worker",
    too_early: str = "and wrote no summary.",
) -> dict[str, str]:
    """The error record of a worker without a summary, from its exit status and its log.

    Args:
        log: of the worker.
        exit_status: negative: the signal that killed it.
        who: what exited, for the message.
        too_early: ends the sentence of one that exited by itself, whose status says no more.
    """
    kind = "Exit"
    message = f"{who} exited with status {exit_status} {too_early}"
    if exit_status < 0:
        kind = signal_name(-exit_status)
        hint = {
            "SIGKILL": " Often the system does this when it is out of memory.",
            "SIGSEGV": " Native code crashed.",
            "SIGFPE": " Native code crashed, as ONNX Runtime does with some graphs.",
            "SIGABRT": " Native code aborted.",
        }.get(kind, "")
        message = f"{who} was killed by {kind}.{hint}"
    elif exit_status == EXIT_UNWRITABLE:
        message = f"{who} could not write to its run folder: is the disk full, or read-only?"
    elif exit_status == EXIT_NOT_STARTED:
        message = "The worker process could not be started."
    lines: list[str] = []
    with contextlib.suppress(OSError):
        if log.is_file():  # reading a pipe could block forever
            with log.open("rb") as file:
                lines = last_lines(file, _LOG_LINES)
    return {"type": kind, "message": message, "traceback": "\n".join(lines)}


def exit_summary(folder: Path, exit_status: int) -> dict[str, object]:
    """The summary of a run whose worker has exited without writing one."""
    return {"status": "failed", "error": describe_exit(folder / "worker.log", exit_status)}


def signal_name(number: int) -> str:
    """Name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_lines(log: IO[bytes], count: int) -> list[str]:
    """The last `count` lines of a log, of any size; the first of them may be cut off."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _TAIL_BYTES))
    return log.read().decode("utf-8", errors="replace").splitlines()[-count:]
