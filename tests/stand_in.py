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

WITH_PYTORCH = ("pytorch", "pytorch-compile", "ortmodule")
WITHOUT = ("ondevice", "fake")
"""Engines whose workers are forks."""

WORKERS_ADDRESS = "PYTEST_FORK_SERVER_OF_WORKERS"


def main(address: str, warnings: str, *python: str) -> int:
    """Run a worker as one of its kind is run, and all else in a fork; returns the status."""
    if python[1] in WORKERS:
        engine, limited = engine_of(python[2])
        if limited or python[1] == "workbench.ranks" or engine not in (*WITH_PYTORCH, *WITHOUT):
            os.execv(sys.executable, [sys.executable, "-P", *python])
        if engine in WITHOUT:
            address = os.environ[WORKERS_ADDRESS]
    request = {
        "python": python,
        "warnings": warnings,
        "folder": os.getcwd(),  # noqa: PTH109
        "cores": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "environment": dict(os.environ),
    }
    return stand_for_fork(address, json.dumps(request).encode())


def engine_of(folder: str) -> tuple[object, bool]:
    """The engine of a run folder, None for one that cannot be read, and whether the memory of its
    process is limited, which is then not that of this process."""
    try:
        with open(f"{folder}/spec.json", "rb") as file:  # noqa: PTH123
            config = json.load(file)["config"]
        limits = ("device", "memory_limit_bytes")
        return config["engine"], any(config.get(limit) is not None for limit in limits)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None, False


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
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        status = int.from_bytes(connection.recv(2), "big", signed=True)
    if status < 0:
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
