"""A child process that does one piece of work which may crash, seen from both sides.

It is `python -m PACKAGE REQUEST.json`. It says what it does on its standard output, one JSON object
a line: {"phase": "..."} and at last {"done": true} or {"error": {...}}. Whatever it and its
libraries print besides goes to a log.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

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

_KINDS: dict[str, type[WorkbenchError]] = {
    kind.__name__: kind
    for kind in (ArtifactsError, DataError, EngineError, ModelError, UntrainableError)
}
"""Errors of a child that its parent raises as they are."""

_LOG_LINES = 8
"""Last lines of the child's log that an error shows."""

EXIT_REFUSED = 1
"""The work cannot be done; standard output says why."""


def run_child(
    package: str,
    request: Path,
    report: Callable[[str], None],
    environment: Mapping[str, str],
    *,
    work: str,
    failure: type[WorkbenchError],
) -> None:
    """Run `python -m PACKAGE REQUEST` until it ends; it ends with this process at the latest.

    Args:
        package: whose `__main__` calls `serve`.
        request: a file that tells it what to do.
        report: is told each phase.
        environment: of the child.
        work: what the process does, for messages, such as "generates artifacts".
        failure: class of the error where the child raised none of the workbench's.

    Raises:
        WorkbenchError: of the very class that the child raised; or `failure`: it failed in another
            way, or was killed. Names the signal and shows the end of its log.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        watch = Watch([sys.executable, "-P", "-m", package, str(request)], parent=os.getpid())
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
            last = _follow(child, report)
            status = child.wait()
        finally:
            # The watchdog, which kills the child with all that it started.
            if child.poll() is None:
                child.terminate()
            if child.stdout is not None:
                child.stdout.close()
            child.wait()
        if "error" in last:
            raise _as_error(last["error"], failure)
        if status != 0 or "done" not in last:
            raise failure(f"{_end(status, work)} The last lines of its log:\n{_tail(log)}")


def serve(work: Callable[[Callable[[str], None]], None]) -> NoReturn:
    """The child's side: do `work`, which is given a `report`, tell how it went, and end.

    The process ends here: to unload torch takes half a second and has nothing left to do.
    """
    status = 0
    try:
        work(lambda text: _say(phase=text))
    except WorkbenchError as error:
        traceback.print_exc()
        problems = error.problems if isinstance(error, ConfigError) else ()
        _say(error={"type": type(error).__name__, "message": str(error), "problems": problems})
        status = EXIT_REFUSED
    except BaseException as error:
        traceback.print_exc()
        problem = disk_problem(error)
        if problem is not None:
            _say(error={"type": "", "message": f"Its files cannot be written. {problem}"})
        status = EXIT_REFUSED
    else:
        _say(done=True)
    sys.stderr.flush()
    os._exit(status)


def _say(**message: Any) -> None:
    """Write one message to the parent."""
    print(json.dumps(message), flush=True)


def _follow(child: subprocess.Popen[str], report: Callable[[str], None]) -> dict[str, Any]:
    """Report each phase; the last message that is not a phase."""
    last: dict[str, Any] = {}
    assert child.stdout is not None
    for line in child.stdout:
        message = _parse(line)
        if message is None:
            print(line, end="", file=sys.stderr)
        elif "phase" in message:
            report(message["phase"])
        else:
            last = message
    return last


def _parse(line: str) -> dict[str, Any] | None:
    """The message in `line`; None where a library printed something of its own."""
    if not line.startswith("{"):
        return None
    try:
        return dict(json.loads(line))
    except ValueError:
        return None


def _as_error(record: dict[str, Any], failure: type[WorkbenchError]) -> WorkbenchError:
    if record["type"] == ConfigError.__name__:
        return ConfigError(record["problems"])
    return _KINDS.get(record["type"], failure)(record["message"])


def _end(status: int, work: str) -> str:
    if status >= 0:
        return f"The process that {work} failed with exit status {status}."
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return (
        f"The process that {work} was killed by {name}. If the machine did not run out of memory, "
        f"a part of the model crashes ONNX Runtime: wb.check(model) lists what it consists of."
    )


def _tail(log: IO[str]) -> str:
    log.seek(0)
    lines = [line.rstrip() for line in log if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-_LOG_LINES:]) or "  (empty)"
