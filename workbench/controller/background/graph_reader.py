"""Reads the graphs of a view on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workbench.controller.request_thread import RequestThread
from workbench.errors import ConfigError
from workbench.graph_view import GraphFile, SourceGraphs, graphs_of_source

MOST_SHOWN = 2
"""Largest number of graphs side by side."""


class GraphReader:
    """The graphs of the last given object; each is read once."""

    def __init__(self, report: Callable[[str], None], fail: Callable[[Exception], None]) -> None:
        """Start the thread, idle.

        Args:
            report: called with the current activity, on the thread.
            fail: called with errors, on the thread.
        """
        self.given: SourceGraphs | None = None
        self.files: dict[str, GraphFile] = {}
        self._report = report
        self._fail = fail
        self._done = threading.Condition()
        self._waiting = 0
        self._thread = RequestThread("graph view", fail)

    def ask(self, work: Callable[[], None]) -> None:
        """Queue `work` for the thread; `wait` waits for it. Returns immediately."""
        with self._done:
            self._waiting += 1

        def counted() -> None:
            try:
                work()
            except Exception as error:  # shown in the view
                self._fail(error)
            finally:
                with self._done:
                    self._waiting -= 1
                    self._done.notify_all()

        self._thread.ask(counted)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are done; False on a timeout."""
        with self._done:
            return self._done.wait_for(lambda: self._waiting == 0, timeout)

    def start(self, given: Any, graphs: list[str] | None) -> list[GraphFile]:
        """Replace the object, and read the graphs to show; on the thread.

        Args:
            given: see `graphs_of_source`.
            graphs: at most two; None: the forward graph, and the training graph if there is one.

        Raises:
            ConfigError: there is no such graph.
            WorkbenchError: it cannot be read.
        """
        found = graphs_of_source(given)
        wanted = graphs or [key for key in ("forward", "training") if key in found.keys]
        unknown = [key for key in wanted if key not in found.keys]
        if unknown or len(wanted) > MOST_SHOWN:
            raise ConfigError(
                [
                    f"graphs={wanted!r}: choose one or two of {', '.join(found.keys)}; "
                    f"{found.name} has no others."
                ]
            )
        self.given, self.files = found, {}
        return [self.read(key) for key in wanted]

    def read(self, key: str) -> GraphFile:
        """One of the graphs; on the thread.

        Raises:
            ConfigError: there is none of this key.
            WorkbenchError: it cannot be read.
        """
        if key not in self.files:
            if self.given is None or key not in self.given.keys:
                there = "none" if self.given is None else ", ".join(self.given.keys)
                raise ConfigError([f"There is no graph {key!r}; there are {there}."])
            self.files[key] = self.given.read(key, self._report)
        return self.files[key]

    def close(self) -> None:
        """End the thread."""
        self._thread.close()
