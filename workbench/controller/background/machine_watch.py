"""Measures every few seconds what other programs use of the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from workbench.machine.load import Load, LoadMeter

PERIOD_S = 4.0
"""Length of a measurement of the load."""


class MachineWatch:
    """Measures on its own thread until it is closed."""

    def __init__(
        self,
        show: Callable[[Load], None],
        own_pids: Callable[[], Iterable[int]] = tuple,
        period_s: float = PERIOD_S,
    ) -> None:
        """Start to measure.

        Args:
            show: called with each measurement.
            own_pids: processes that do not count, such as workers that are watched.
            period_s: length of a measurement.
        """
        self._show = show
        self._meter = LoadMeter(own_pids)
        self._period_s = period_s
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="workbench-machine", daemon=True).start()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()

    def _run(self) -> None:
        self._meter.start()
        while not self._closed.wait(self._period_s):
            self._meter.lap()
            load = self._meter.take()
            if load is not None:
                self._show(load)
