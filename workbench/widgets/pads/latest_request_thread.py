"""A thread that handles the newest request and drops those before it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.controller.request_thread import Request, RequestThread


class LatestRequestThread:
    """Keeps up with what changes faster than it can be worked on, such as a drawing."""

    def __init__(
        self, name: str, on_done: Callable[[], None], on_error: Callable[[Exception], None]
    ) -> None:
        """Start the thread, idle.

        Args:
            name: of the thread.
            on_done: called after each request that raised nothing.
            on_error: gets what a request raised.
        """
        self._thread = RequestThread(name, on_error)
        self._on_done = on_done
        self._lock = threading.Lock()
        self._next: Request | None = None

    def ask(self, request: Request) -> None:
        """Have `request` done soon, instead of one that has not begun; returns at once."""
        with self._lock:
            waiting = self._next is not None
            self._next = request
        if not waiting:
            self._thread.ask(self._do)

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def _do(self) -> None:
        with self._lock:
            request, self._next = self._next, None
        if request is not None:
            request()
            self._on_done()
