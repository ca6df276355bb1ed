"""Runs `python -m MODULE ...` and `python -c CODE ...` in forks of one process that has imported
what they need.

Importing PyTorch and its exporter takes a process two to five seconds of CPU time, and the tests
start hundreds of processes. The server imports them once, and each process is a fork of it: with
its own memory, environment and folder, and nothing in it but imports.

What a test starts, interrupts and kills is the small process of stand_in.py: it passes interrupts
on and ends as the fork does; the fork is killed when it ends.

Forks start their own child processes in the same way, and so do probes that call `fork_children`.
The processes of pytest-xdist are forks themselves: see `fork_test_processes` of conftest.py.
Workers of runs are forks, too: of a second server where their engine has no PyTorch in its process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STAND_IN = str(Path(__file__).with_name("stand_in.py"))

ADDRESS = "PYTEST_FORK_SERVER"
"""Environment variable: where the server of this run of tests listens. By its beginning, keys of
the cache of exports do not depend on it."""

WORKERS_ADDRESS = "PYTEST_FORK_SERVER_OF_WORKERS"
"""The same for the server without PyTorch."""

REQUEST_BYTES = 1 << 20
"""More than a request takes: module, arguments, folder and environment."""

_PLACE_OF_W = ("default", None, Warning, None, 0)
"""In the list of filters of warnings: in front of Python's own, behind those of packages."""


class ForkServer:
    """A server, started when the first process connects to it."""

    def __init__(self, preloaded: str) -> None:
        self._preloaded = preloaded
        self._folder = tempfile.TemporaryDirectory()  # the path of a socket must be short
        self.address = f"{self._folder.name}/forks"
        self._environment = dict(os.environ)
        """That of the beginning: a test that needs the server first may have changed it."""
        self._process: subprocess.Popen[bytes] | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen()
        self._closed, self._close = os.pipe()
        self._starts = threading.Thread(target=self._start_when_needed, daemon=True)
        self._starts.start()

    def _start_when_needed(self) -> None:
        ready, _, _ = select.select([self._listener, self._closed], [], [])
        if self._closed not in ready:
            with log_of(self.address).open("wb") as log:
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-P", "-m", "tests.fork_server"),
                        *(str(self._listener.fileno()), self._preloaded),
                    ],
                    cwd=ROOT,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[self._listener.fileno()],
                )
        # The server's alone: who waits for one that fails to start is told so.
        self._listener.close()

    def close(self) -> None:
        """End the server; its forks continue."""
        os.write(self._close, b"\n")
        self._starts.join()
        os.close(self._close)
        os.close(self._closed)
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=30)
        self._folder.cleanup()


def forked(*python: str | os.PathLike[str], warnings: str = "") -> list[str | os.PathLike[str]]:
    """The command that runs `python -m MODULE ...` or `python -c CODE ...` in a fork.

    `warnings` is what `python -W` would be given: "error" or nothing.
    """
    if ADDRESS not in os.environ:
        return [sys.executable, *(("-W", warnings) if warnings else ()), *python]
    return [sys.executable, "-I", "-S", STAND_IN, os.environ[ADDRESS], warnings, *python]


def forked_package(package: str) -> list[str]:
    """In the place of `child.command`."""
    return [str(part) for part in forked("-m", package)]


def log_of(address: str) -> Path:
    """The output of the server at `address`."""
    return Path(f"{address}.log")


def fork_children() -> None:
    """Have child processes of the workbench forked by the tests' server, if one runs."""
    from workbench.child_process import child

    if ADDRESS in os.environ:
        child.command = forked_package


def serve(listener: socket.socket, preloaded: str) -> dict[str, Any]:
    """Import a module and fork for each connection. Returns in those forks, with what they run.

    A fork is killed when its connection closes, and has its status sent when it ends.
    """
    preload(preloaded)
    woken = wake_when_a_fork_ends()
    forks: dict[socket.socket, int] = {}
    while True:
        for ready in select.select([listener, woken, *forks], [], [])[0]:
            if ready is listener:
                connection, _ = listener.accept()
                message, files, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
                pid = os.fork()
                if pid == 0:
                    for each in (listener, connection, *forks):
                        each.close()
                    return prepared(json.loads(message), files)
                for file in files:
                    os.close(file)
                forks[connection] = pid
                send(connection, pid.to_bytes(4, "big"))
            elif ready is woken:
                woken.recv(4096)
            elif ready in forks:
                os.kill(forks.pop(ready), signal.SIGKILL)
                ready.close()
        send_statuses(forks)


def preload(module: str) -> None:
    """Import it, once for all forks."""
    import gc
    import importlib
    import warnings

    warnings.simplefilter("default")  # _PLACE_OF_W
    importlib.import_module(module)
    gc.collect()
    gc.freeze()  # no fork goes through all that again, and copies it


def wake_when_a_fork_ends() -> socket.socket:
    """A socket that can be read then."""
    woken, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def send_statuses(forks: dict[socket.socket, int]) -> None:
    """Tell who stands for a fork that has ended; no longer is it one of `forks`."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            for connection in [each for each, pid in forks.items() if pid == ended[0]]:
                del forks[connection]
                status = os.waitstatus_to_exitcode(ended[1])
                send(connection, status.to_bytes(2, "big", signed=True))
                connection.close()


def send(connection: socket.socket, answer: bytes) -> None:
    """To who may have been killed."""
    with contextlib.suppress(OSError):
        connection.sendall(answer)


def prepared(request: dict[str, Any], files: list[int]) -> dict[str, Any]:
    """The request, in a process that has its streams, folder, cores and environment."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    atexit._clear()  # what the server's packages have registered is about the server
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdout.reconfigure(line_buffering="PYTHONUNBUFFERED" in request["environment"])  # type: ignore[union-attr]
    set_warnings(request["warnings"])
    os.chdir(request["folder"])
    if request["cores"]:
        os.sched_setaffinity(0, request["cores"])
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    set_threads(os.environ.get("OMP_NUM_THREADS"))
    searched = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, searched), *(one for one in sys.path if one not in own)]
    return request


def set_warnings(action: str) -> None:
    """As `python -W ACTION` does: for what the filters of imported packages let pass."""
    import warnings

    place = warnings.filters.index(_PLACE_OF_W)
    warnings.filters[place : place + 1] = [(action, *_PLACE_OF_W[1:])] if action else []
    warnings._filters_mutated()  # type: ignore[attr-defined]


def set_threads(number: str | None) -> None:
    """As PyTorch does where it is imported. Two threads of a fork hang in forks of it."""
    if number and "torch" in sys.modules:
        import torch

        torch.set_num_threads(int(number))


def run(option: str, program: str, *arguments: str) -> int:
    """Run a module or code in this process, whose children are forked; returns its status."""
    import runpy

    if option == "-u":  # a process of pytest-xdist, whose fixtures choose how children are started
        option, program, *arguments = program, *arguments
    else:
        fork_children()
    sys.argv = [program, *arguments]
    try:
        if option == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.argv[0] = option
            module = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), module.__dict__)
    except SystemExit as ended:
        status = 0 if ended.code is None else ended.code
    else:
        status = 0
    return status if isinstance(status, int) else 1


if __name__ == "__main__":
    asked = serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    status = run(*asked["python"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # unloading torch takes half a second
