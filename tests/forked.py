"""Native calls in forks of one process: a crash is the outcome of one case, not of all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.fork_server import forked

ROOT = Path(__file__).parents[1]

LONGEST_ANSWER = 60_000
"""Bytes; a pipe holds at least 65,536."""


def outcome(case: Callable[[], Any]) -> Any:
    """The result of `case` in a fork, or as text the error or signal that it ended with."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = case()
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, json.dumps(answer).encode()[:LONGEST_ANSWER])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return json.loads(text)


def outcomes_of(script: ModuleType, timeout_s: float = 500) -> dict[str, Any]:
    """Run a module that prints {case: outcome} in a fork of its own."""
    path = Path(str(script.__file__)).relative_to(ROOT).with_suffix("")
    done = subprocess.run(
        forked("-m", ".".join(path.parts)),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))
