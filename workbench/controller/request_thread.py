"""A thread that handles requests one after another."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from workbench.errors import RunError, exception_text

EXIT_S = 20.0
"""Time that the exit of the process waits for a request in progress."""
POLL_S = 0.1
"""Interval of checks whether the thread is alive, while waiting."""

_log = logging.getLogger(__name__)

Request = Callable[[], None]
T = TypeVar("T")


class RequestThread:
    """Executes requests in order, so that handlers of widgets never block.

    Between requests it can also tick: call a function periodically. A background task of asyncio
    would stall in a notebook once its cell has ended; a thread does not.
    """

    def __init__(
        self,
        name: str,
        on_error: Callable[[Exception], None],
        tick: Callable[[], bool] = lambda: False,
        period_s: float = 0.2,
    ) -> None:
        """Start the thread, idle.

        Args:
            name: of the thread.
            on_error: called with errors of requests and ticks; the thread and its ticks continue.
            tick: called every `period_s` after a request, until it returns False.
            period_s: seconds between ticks.
        """
        self._on_error = on_error
        self._tick = tick
        self._period_s = period_s
        self._requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        # A thread in native code during the exit of the interpreter would abort the process.
        atexit.register(self._finish)

    def ask(self, request: Request) -> None:
        """Queue `request`; returns immediately. Callable from any thread."""
        self._requests.put(request)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests so far are done, or the thread has ended.

        Args:
            timeout: in seconds; None: no limit.

        Returns:
            False on a timeout.
        """
        end = None if timeout is None else time.monotonic() + timeout
        done = threading.Event()
        self.ask(done.set)
        while not done.wait(POLL_S):
            if not self._thread.is_alive():
                return True
            if end is not None and time.monotonic() > end:
                return False
        return True

    def close(self) -> None:
        """End the thread after the requests made so far."""
        self._requests.put(None)

    def _finish(self) -> None:
        self.close()
        self._thread.join(EXIT_S)

    def _run(self) -> None:
        try:
            self._work()
        finally:
            atexit.unregister(self._finish)

    def _work(self) -> None:
        ticking = False
        while True:
            try:
                request = self._requests.get(timeout=self._period_s if ticking else None)
            except queue.Empty:
                # Also after an error: the data may be readable at the next tick.
                ticking = self._try(self._tick) is not False
                continue
            if request is None:
                return
            self._try(request)
            ticking = True

    def _try(self, work: Callable[[], T]) -> T | None:
        """Result of `work`; None after an error, which is shown to the user."""
        try:
            return work()
        except BaseException as error:  # shown to the user; the page must continue
            try:
                self._on_error(_as_exception(error))
            except BaseException:  # a later request must not wait for ever
                _log.exception("The error %r cannot be shown", exception_text(error))
            return None


def _as_exception(error: BaseException) -> Exception:
    """The error as an `Exception`: user code that exits must end neither thread nor caller."""
    if isinstance(error, Exception):
        return error
    problem = RunError(f"The code ended the program ({exception_text(error)}). Make it return.")
    problem.__cause__ = error
    return problem
