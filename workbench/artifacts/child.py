"""The child process that generates artifacts, seen from its parent.

It says what it does on its standard output, one JSON object a line: {"phase": "..."} and at last
{"done": true} or {"error": {...}}. Whatever it and its libraries print besides goes to a log.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from workbench.errors import (
    ArtifactsError,
    ConfigError,
    DataError,
    EngineError,
    ModelError,
    UntrainableError,
    WorkbenchError,
)

_KINDS: dict[str, type[WorkbenchError]] = {
    kind.__name__: kind for kind in (DataError, EngineError, ModelError, UntrainableError)
}
"""Errors of a child that its parent raises as they are."""

_LOG_LINES = 8
"""Last lines of the child's log that an error shows."""


def run_child(request: Path, report: Callable[[str], None], environment: Mapping[str, str]) -> None:
    """Run `python -m workbench.artifacts` on `request` until it ends.

    Args:
        request: written by `Request.write`.
        report: is told each phase.
        environment: of the child.

    Raises:
        WorkbenchError: of the very class that the child raised.
        ArtifactsError: it failed in another way, or was killed; names the signal and shows the end
            of its log.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "workbench.artifacts", str(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(environment),
            text=True,
            encoding="utf-8",
        )
        try:
            last = _follow(child, report)
            status = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
            if child.stdout is not None:
                child.stdout.close()
            child.wait()
        if "error" in last:
            raise _as_error(last["error"])
        if status != 0 or "done" not in last:
            raise ArtifactsError(f"{_end(status)} The last lines of its log:\n{_tail(log)}")


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


def _as_error(record: dict[str, Any]) -> WorkbenchError:
    if record["type"] == ConfigError.__name__:
        return ConfigError(record["problems"])
    return _KINDS.get(record["type"], ArtifactsError)(record["message"])


def _end(status: int) -> str:
    if status >= 0:
        return f"The process that generates artifacts failed with exit status {status}."
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return (
        f"The process that generates artifacts was killed by {name}. Nothing was written. If the "
        f"machine did not run out of memory, a part of the model crashes ONNX Runtime: "
        f"wb.check(model) lists what it consists of."
    )


def _tail(log: IO[str]) -> str:
    log.seek(0)
    lines = [line.rstrip() for line in log if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-_LOG_LINES:]) or "  (empty)"
