"""Runs `python -m MODULE ARGUMENTS...` in forks of one process that has imported what they need.

Importing PyTorch and its exporter takes a process two to five seconds of CPU time, and the tests
start hundreds of processes. The server imports them once, and each process is a fork of it: with
its own memory, environment and folder, and nothing in it but imports.

What a test starts, interrupts and kills is the small process of `main`, which stands for the fork:
it passes interrupts on and ends as the fork does; the fork is killed when it ends.

Forks start their own child processes in the same way, and so do probes that call `fork_children`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

ADDRESS = "PYTEST_FORK_SERVER"
"""Environment variable: where the server of this run of tests listens, once it does. By its
beginning, keys of the cache of exports do not depend on it."""

REQUEST_BYTES = 1 << 20
"""More than a request takes: module, arguments, folder and environment."""


class ForkServer:
    """A server, started when it is first needed."""

    def __init__(self, log: Path, preloaded: str) -> None:
        self._log = log
        self._preloaded = preloaded
        self._folder = tempfile.TemporaryDirectory()  # the path of a socket must be short
        self._address = f"{self._folder.name}/forks"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, module: str) -> list[str]:
        """The command that runs `module` in a fork; its arguments follow."""
        self.start()
        return command(self._address, module)

    def start(self) -> None:
        """Start the server, if it does not run, and tell child processes of it."""
        if self._process is None:
            self._process = self._start()
            os.environ[ADDRESS] = self._address

    def _start(self) -> subprocess.Popen[bytes]:
        """Returns when it has imported everything and listens."""
        with self._log.open("wb") as errors:
            server = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.fork_server", self._address, self._preloaded],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert server.stdout is not None
        with server.stdout as output:
            said = output.readline()
        assert said == b"ready\n", self._log.read_text(encoding="utf-8", errors="replace")
        return server

    def close(self) -> None:
        """End the server; its forks continue."""
        if self._process is not None:
            os.environ.pop(ADDRESS, None)
            self._process.terminate()
            self._process.wait(timeout=30)
        self._folder.cleanup()


def command(address: str, module: str) -> list[str]:
    """The command that has the server at `address` run `module`; its arguments follow."""
    return [sys.executable, "-I", "-S", __file__, address, module]


def fork_children() -> None:
    """Have child processes of the workbench forked by the tests' server, if one runs."""
    from workbench.child_process import child

    if ADDRESS in os.environ:
        child.command = partial(command, os.environ[ADDRESS])


def serve(address: str, preloaded: str) -> dict[str, Any]:
    """Import a module; fork a keeper for each connection, which forks what is asked for.

    Returns in those forks, with what they shall run.
    """
    import importlib

    importlib.import_module(preloaded)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    os.write(1, b"ready\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            message, files, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
            pid = os.fork()
            if pid == 0:
                connection.close()
                return prepared(json.loads(message), files)
            keep(connection, pid)
        connection.close()


def keep(connection: socket.socket, pid: int) -> NoReturn:
    """Kill the fork when the connection closes; send its status when it ends."""

    def kill_at_end_of_connection() -> None:
        connection.recv(1)
        os.kill(pid, signal.SIGKILL)

    connection.sendall(pid.to_bytes(4, "big"))
    threading.Thread(target=kill_at_end_of_connection, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(status.to_bytes(2, "big", signed=True))
    os._exit(0)


def prepared(request: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """The request, in a process that has its streams, folder and environment."""
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request["environment"])
    searched = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, searched), *(one for one in sys.path if one not in own)]
    return request


def main(address: str, module: str, *arguments: str) -> int:
    """Ask the server for a fork and stand for it until it ends; returns its status."""
    request = {
        "module": module,
        "arguments": arguments,
        "folder": os.getcwd(),  # noqa: PTH109, this process imports as little as it can
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        pid = int.from_bytes(connection.recv(4), "big")
        signal.signal(signal.SIGINT, lambda *_: os.kill(pid, signal.SIGINT))
        status = int.from_bytes(connection.recv(2), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    if sys.flags.isolated:
        sys.exit(main(*sys.argv[1:]))
    import runpy

    asked = serve(*sys.argv[1:])
    sys.argv = [asked["module"], *asked["arguments"]]
    fork_children()
    try:
        runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = 0 if ended.code is None else ended.code
    else:
        status = 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)  # unloading torch takes half a second
