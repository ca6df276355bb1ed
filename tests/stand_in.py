"""The process that a test starts, interrupts and kills in the place of a fork: see fork_server.py.

python -I -S tests/stand_in.py ADDRESS WARNINGS -m MODULE ARGUMENTS...

It imports as little as it can: hundreds are started.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

WORKERS = ("workbench.worker", "workbench.flower", "workbench.ranks")
"""Workers of runs, whose argument is the run folder."""

FORKED_ENGINES = ("pytorch", "pytorch-compile", "ortmodule")
WITH_FORKED_CHILDREN = ("ondevice",)


def main(address: str, warnings: str, *python: str) -> int:
    """Run a worker as one of its kind is run, and all else in a fork; returns the status."""
    if python[1] in WORKERS:
        engine = engine_of(python[2])
        if engine not in FORKED_ENGINES or python[1] != "workbench.worker":
            program = list(python)
            if engine in WITH_FORKED_CHILDREN:
                program[0] = os.path.join(os.path.dirname(__file__), "fork_server.py")  # noqa: PTH118, PTH120
            os.execv(sys.executable, [sys.executable, "-P", *program])
    request = {
        "python": python,
        "warnings": warnings,
        "folder": os.getcwd(),  # noqa: PTH109
        "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "environment": dict(os.environ),
    }
    return stand_for_fork(address, json.dumps(request).encode())


def engine_of(folder: str) -> object:
    """The engine of a run folder; None for one that cannot be read."""
    try:
        with open(f"{folder}/spec.json", "rb") as file:  # noqa: PTH123
            return json.load(file)["config"]["engine"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def stand_for_fork(address: str, request: bytes) -> int:
    """Ask the server for a fork and stand for it until it ends; returns its status."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
            socket.send_fds(connection, [request], [0, 1, 2])
            answer = connection.recv(4)
        except ConnectionError:
            answer = b""
        if not answer:
            with open(f"{address}.log", encoding="utf-8") as log:  # noqa: PTH123
                sys.exit(f"The tests' fork server has ended:\n{log.read()}")
        pid = int.from_bytes(answer, "big")
        signal.signal(signal.SIGINT, lambda *_: os.kill(pid, signal.SIGINT))
        status = int.from_bytes(connection.recv(2), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
