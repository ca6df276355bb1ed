"""Starts the kernels of the browser tests by forking a process that has imported everything.

Importing the workbench and PyTorch takes a kernel five seconds of CPU time, and each test has a
kernel of its own. The server imports them once, and each kernel is a fork of it: with its own
memory, environment and folder, and nothing in it but imports.

What JupyterLab starts, interrupts and kills is the small process of `main`, which stands for its
kernel: it passes interrupts on and ends when the kernel does; the kernel is killed when it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

NAME = "forked"
"""Name of the kernelspec."""

REQUEST_BYTES = 1 << 20
"""More than a request takes: arguments, folder and environment."""


def write_kernelspec(folder: Path, address: Path) -> None:
    """Write a kernelspec into a Jupyter data folder, for the server that listens at `address`."""
    spec = {
        "argv": [sys.executable, "-I", "-S", __file__, str(address), "-f", "{connection_file}"],
        "display_name": "Python 3 (forked)",
        "language": "python",
    }
    path = folder / "kernels" / NAME / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(spec), encoding="utf-8")


def start_server(address: Path, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a server and return when it has imported everything and listens at `address`."""
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.browser.kernel_server", str(address)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        )
    assert server.stdout is not None
    with server.stdout as output:
        assert output.readline() == b"ready\n", log.read_text(encoding="utf-8", errors="replace")
    return server


def serve(address: str) -> None:
    """Fork a keeper for each connection, which forks the kernel and waits for its end."""
    import onnx  # noqa: F401
    import pandas  # noqa: F401
    import torch  # noqa: F401
    from ipykernel.kernelapp import IPKernelApp  # noqa: F401

    import workbench.widgets  # noqa: F401

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
            keep(connection)
        connection.close()


def keep(connection: socket.socket) -> NoReturn:
    """Fork the kernel that is asked for; kill it when the connection closes, or send its status."""
    message, files, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become_kernel(json.loads(message), files)

    def kill_at_end_of_connection() -> None:
        connection.recv(1)
        os.kill(pid, signal.SIGKILL)

    connection.sendall(pid.to_bytes(4, "big"))
    threading.Thread(target=kill_at_end_of_connection, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall((status & 0xFF).to_bytes(1, "big"))
    os._exit(0)


def become_kernel(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Do what `python -m ipykernel_launcher` does, in this process."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["ipykernel_launcher", *request["arguments"]]
    IPKernelApp.launch_instance(request["arguments"])
    os._exit(0)


def main(address: str, *arguments: str) -> int:
    """Ask the server for a kernel and stand for it until it ends; returns its status."""
    request = {
        "arguments": arguments,
        "folder": os.getcwd(),  # noqa: PTH109, this process imports as little as it can
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        pid = int.from_bytes(connection.recv(4), "big")
        signal.signal(signal.SIGINT, lambda *_: os.kill(pid, signal.SIGINT))
        return int.from_bytes(connection.recv(1), "big")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        sys.exit(main(*sys.argv[1:]))
