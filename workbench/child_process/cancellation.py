"""Cancels work that child processes do, from another thread than the one that waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


class CancelledError(Exception):
    """The work was cancelled.

    Not a `WorkbenchError`: what tries one engine after another must not go on to the next.
    """


class Cancellation:
    """Work that can be cancelled: its child processes end then, and what waits for them raises."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self.cancelled = False

    def cancel(self) -> None:
        """End the child processes. Callable from any thread, more than once, and before the
        work begins."""
        with self._lock:
            self.cancelled = True
            ends = list(self._ends)
        for end in ends:
            end()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Have what runs within, in this thread, end when it is cancelled.

        Raises:
            CancelledError: it was cancelled.
        """
        token = _current.set(self)
        try:
            self._check()
            yield
        finally:
            _current.reset(token)

    def _check(self) -> None:
        if self.cancelled:
            raise CancelledError

    def _add(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._ends.append(end)
        if self.cancelled:  # before it was known how to end it
            end()

    def _remove(self, end: Callable[[], None]) -> None:
        with self._lock:
            self._ends.remove(end)


def check_cancelled() -> None:
    """Go on unless the work of this thread was cancelled.

    Raises:
        CancelledError: it was.
    """
    current = _current.get()
    if current is not None:
        current._check()


@contextmanager
def ended_if_cancelled(end: Callable[[], None]) -> Iterator[None]:
    """Have `end` called, on another thread, when the work of this one is cancelled within."""
    current = _current.get()
    if current is None:
        yield
        return
    current._add(end)
    try:
        yield
    finally:
        current._remove(end)
