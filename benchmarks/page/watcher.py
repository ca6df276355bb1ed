"""A notebook kernel with a live `Workbench` in it, and a client that takes in what it sends.

The browser, which draws what the client here only receives, is not part of it.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from workbench.runs import Run

SETTLE_S = 1.0
"""Time for a page that was just attached to take in what the run had recorded before."""
ATTACH = """
import workbench as wb
page = wb.Workbench()
page.show(wb.load_run({id!r}))
"""


class Watcher:
    """The kernel and its client; use as a context manager."""

    def __init__(self) -> None:
        self._manager = KernelManager(transport="ipc")
        self._manager.start_kernel()
        client = self._manager.client()
        assert isinstance(client, BlockingKernelClient)
        self._client = client
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)
        self._ended = threading.Event()
        self._first_point: float | None = None
        self._thread = threading.Thread(target=self._take_in, daemon=True)
        self._thread.start()
        self._execute("import workbench as wb; wb.Workbench; wb.load_run")

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    @contextmanager
    def watching(self, run: Run) -> Iterator[None]:
        """A live page follows `run` meanwhile."""
        self._first_point = None
        self._execute(ATTACH.format(id=run.id))
        time.sleep(SETTLE_S)
        try:
            yield
            self._execute("assert not page.wait(0), page.status.message")
        finally:
            self._execute("page.close()")

    @contextmanager
    def held(self) -> Iterator[None]:
        """The kernel does nothing at all meanwhile."""
        self._manager.signal_kernel(signal.SIGSTOP)
        try:
            yield
        finally:
            self._manager.signal_kernel(signal.SIGCONT)

    def first_point_time(self, timeout_s: float) -> float:
        """When the client received the first point of the run, in seconds since the epoch."""
        deadline = time.monotonic() + timeout_s
        while self._first_point is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"No point was sent to the page within {timeout_s:g} s.")
            time.sleep(0.01)
        return self._first_point

    def _execute(self, code: str) -> None:
        # What the code prints and sends comes by the other channel, to the thread.
        reply = self._client.get_shell_msg
        sent = self._client.execute(code)
        while True:
            message = reply(timeout=120)
            if message["parent_header"].get("msg_id") == sent:
                break
        if message["content"]["status"] != "ok":
            raise RuntimeError("\n".join(message["content"]["traceback"]))

    def _take_in(self) -> None:
        while not self._ended.is_set():
            try:
                message = self._client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            content = message["content"].get("data", {}).get("content", {})
            if message["msg_type"] == "comm_msg" and content.get("kind") == "points":
                received = any(part["count"] for part in content["parts"])
                if received and self._first_point is None:
                    self._first_point = time.time()
