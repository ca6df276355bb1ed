"""The processes that clients run in: as many as cores, each serving one client at a time."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.child_process.exit_reason import signal_name
from workbench.flower.client.frames import Frame, read_frame, write_frame
from workbench.run_folder.run_folder import RunFolder


class ClientTask(NamedTuple):
    """A message to a client."""

    client: int
    facts: dict[str, Any]
    arrays: Mapping[str, np.ndarray]


class Answered(NamedTuple):
    """Result of a client's task, or why there is none."""

    task: ClientTask
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]
    error: str
    """Why there is no answer, as a sentence; else empty."""
    sent_bytes: int
    received_bytes: int


class ClientPool:
    """Client processes of one run, started when they are needed, and again after one has ended."""

    def __init__(self, folder: RunFolder, processes: int) -> None:
        self._command = [
            *(sys.executable, "-P", "-m", "workbench.flower.client.client_process"),
            str(folder.path),
        ]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * processes

    def pids(self) -> list[int]:
        """Of the processes that are alive."""
        return [each.pid for each in self._processes if each is not None and each.poll() is None]

    def run(
        self, tasks: Iterable[ClientTask], timeout_s: float, stop_requested: Callable[[], bool]
    ) -> list[Answered]:
        """Do the tasks and wait for them; processes that are late are killed.

        Args:
            tasks: in the order in which they begin.
            timeout_s: for all of them together.
            stop_requested: ends the wait.

        Returns:
            A reply for each task, in the order of the clients: sums do not depend on who was first.
        """
        waiting: queue.SimpleQueue[ClientTask] = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)
        replies: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        late = threading.Event()
        servers = [
            threading.Thread(target=self._serve, args=(place, waiting, replies, late, timeout_s))
            for place in range(min(len(self._processes), waiting.qsize()))
        ]
        deadline = time.monotonic() + timeout_s
        for server in servers:
            server.start()
        for server in servers:
            while server.is_alive():
                server.join(0.05)
                if late.is_set() or time.monotonic() > deadline or stop_requested():
                    late.set()
                    # Again and again: a thread may just have started another.
                    self._kill_all()
        found = [replies.get() for _ in range(replies.qsize())]
        return sorted(found, key=lambda reply: reply.task.client)

    def close(self) -> None:
        """End the processes."""
        for place in range(len(self._processes)):
            self._end(place)

    def _serve(
        self,
        place: int,
        waiting: queue.SimpleQueue[ClientTask],
        replies: queue.SimpleQueue[Answered],
        late: threading.Event,
        timeout_s: float,
    ) -> None:
        """Do tasks in the process at `place` until none is left."""
        while True:
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            if late.is_set():
                replies.put(_late(task, timeout_s, 0))
                continue
            replies.put(self._ask(place, task, late, timeout_s))

    def _ask(
        self, place: int, task: ClientTask, late: threading.Event, timeout_s: float
    ) -> Answered:
        process = self._process(place)
        assert process.stdin is not None
        assert process.stdout is not None
        sent_bytes = 0
        try:
            sent_bytes = write_frame(process.stdin, task.facts, task.arrays)
            frame: Frame = read_frame(process.stdout)
        except (OSError, EOFError):
            status = process.wait()
            if late.is_set():
                return _late(task, timeout_s, sent_bytes)
            return Answered(task, {}, {}, f"its process {_ended(status)}.", sent_bytes, 0)
        error = str(frame.facts.get("error", ""))
        return Answered(task, frame.facts, frame.arrays, error, sent_bytes, frame.size_bytes)

    def _process(self, place: int) -> subprocess.Popen[bytes]:
        process = self._processes[place]
        if process is None or process.poll() is not None:
            self._end(place)
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._processes[place] = process
        return process

    def _end(self, place: int) -> None:
        process = self._processes[place]
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # What was not sent yet to a process that has ended cannot be flushed.
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
        self._processes[place] = None

    def _kill_all(self) -> None:
        for process in self._processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def _late(task: ClientTask, timeout_s: float, sent_bytes: int) -> Answered:
    error = f"it did not answer within {timeout_s:g} s."
    return Answered(task, {"seconds": timeout_s}, {}, error, sent_bytes, 0)


def _ended(status: int) -> str:
    """How a process ended, for a sentence."""
    if status < 0:
        return f"was killed by {signal_name(-status)}"
    return f"ended with status {status}"
