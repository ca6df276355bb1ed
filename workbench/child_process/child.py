"""Runs one task that may crash in a child process: the parent's and the child's side.

The child is `python -m PACKAGE REQUEST.json`. It writes one JSON object per line to what was its
standard output: {"phase": "..."}, and at the end {"done": true} or {"error": {...}}. Everything
else that it, its libraries and the model print goes to a log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from workbench.child_process.cancellation import check_cancelled, ended_if_cancelled
from workbench.child_process.exit_reason import last_lines, signal_name
from workbench.child_process.watchdog import Watch
from workbench.errors import (
    ArtifactsError,
    ConfigError,
    DataError,
    EngineError,
    ModelError,
    UntrainableError,
    WorkbenchError,
)
from workbench.files.disk import disk_problem
from workbench.machine.garbage_collection import infrequent_garbage_collection

_KINDS: dict[str, type[WorkbenchError]] = {
    kind.__name__: kind
    for kind in (ArtifactsError, DataError, EngineError, ModelError, UntrainableError)
}
"""Classes of errors that the parent raises as the child did."""

_LOG_LINES = 8
"""How many of the last lines of the child's log an error shows."""

EXIT_REFUSED = 1
"""The task failed; the reason is in the standard output, if it is known."""


def run_child(
    package: str,
    request: Path,
    report: Callable[[str], None],
    environment: Mapping[str, str],
    *,
    work: str,
    failure: type[WorkbenchError],
) -> None:
    """Run `python -m PACKAGE REQUEST` and wait for it. It is killed if this process ends, or if the
    work is cancelled.

    Args:
        package: a package whose `__main__` calls `serve`.
        request: the file with its arguments.
        report: called with the text of each phase.
        environment: of the child.
        work: the task, for messages, such as "generates artifacts".
        failure: class of the error if the child ended without an error of the workbench.

    Raises:
        WorkbenchError: of the class that the child raised; or `failure`, with the signal and the
            end of the log, if it failed in another way or was killed.
        CancelledError: see `Cancellation`.
    """
    check_cancelled()
    with tempfile.TemporaryFile() as log:
        watch = Watch([*command(package), str(request)], parent=os.getpid())
        child = subprocess.Popen(
            watch.arguments(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(environment),
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            with ended_if_cancelled(child.terminate):
                last = _follow(child, report)
                status = child.wait()
        finally:
            # This is the watchdog, which kills the child and its descendants.
            if child.poll() is None:
                child.terminate()
            if child.stdout is not None:
                child.stdout.close()
            child.wait()
        check_cancelled()
        if "error" in last:
            raise as_error(last["error"], failure)
        if status != 0 or "done" not in last:
            raise failure(exit_sentence(status, work, log))


def command(package: str) -> list[str]:
    """Command line that runs `package` as a process; its arguments follow."""
    return [sys.executable, "-P", "-m", package]


def serve(work: Callable[[Callable[[str], None]], None]) -> NoReturn:
    """The child's side: call `work` with a `report` function, send the result and exit.

    Exits with `os._exit`: unloading torch takes half a second.
    """
    status = 0
    messages = os.dup(1)
    os.dup2(2, 1)  # so that what is printed is not taken for a message
    try:
        with infrequent_garbage_collection():
            work(lambda text: _send(messages, phase=text))
    except WorkbenchError as error:
        traceback.print_exc()
        problems = error.problems if isinstance(error, ConfigError) else ()
        record = {"type": type(error).__name__, "message": str(error), "problems": problems}
        _send(messages, error=record)
        status = EXIT_REFUSED
    except BaseException as error:
        traceback.print_exc()
        problem = disk_problem(error)
        if problem is not None:
            record = {"type": "", "message": f"The files cannot be written. {problem}"}
            _send(messages, error=record)
        status = EXIT_REFUSED
    else:
        _send(messages, done=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _send(descriptor: int, **message: Any) -> None:
    """Send one message to the parent."""
    rest = json.dumps(message).encode() + b"\n"
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _follow(child: subprocess.Popen[str], report: Callable[[str], None]) -> dict[str, Any]:
    """Report each phase; returns the last other message."""
    last: dict[str, Any] = {}
    assert child.stdout is not None
    for line in child.stdout:
        message = parse_message(line)
        if message is None:
            print(line, end="", file=sys.stderr)
        elif "phase" in message:
            report(message["phase"])
        else:
            last = message
    return last


def parse_message(line: str) -> dict[str, Any] | None:
    """The message in `line`; None if a library printed it."""
    if not line.startswith("{"):
        return None
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def as_error(record: Mapping[str, Any], failure: type[WorkbenchError]) -> WorkbenchError:
    """The error of a child that called `serve`, from its last message."""
    if record["type"] == ConfigError.__name__:
        return ConfigError(record["problems"])
    return _KINDS.get(record["type"], failure)(record["message"])


def exit_sentence(status: int, work: str, log: IO[bytes]) -> str:
    """How a child ended that gave no reason itself, and the end of its log."""
    return f"{_exit_reason(status, work)} The last lines of its log:\n{_tail(log)}"


def _exit_reason(status: int, work: str) -> str:
    if status >= 0:
        return f"The process that {work} failed with exit status {status}."
    return (
        f"The process that {work} was killed by {signal_name(-status)}. Unless the machine ran "
        f"out of memory, an operator of the model crashes ONNX Runtime: wb.check(model) lists the "
        "operators."
    )


def _tail(log: IO[bytes]) -> str:
    # Twice as many: an empty line between two is not shown.
    lines = [line.rstrip() for line in last_lines(log, 2 * _LOG_LINES) if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-_LOG_LINES:]) or "  (empty)"
