"""What stands between a worker and its next step: its watchers, a signal, a parent that is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from workbench.run_folder.control import ControlReader, Poll

EARLY_POLL_S = 0.1
EARLY_GRACE_S = 0.5
"""How long the loop has to act on a stop itself before an unready worker just ends."""
REASONS = {
    signal.SIGHUP: "The process that started it is gone.",
    signal.SIGTERM: "It was told to end by SIGTERM.",
}
"""The signals that interrupt a run, and what its summary says of them."""


def _hold_signals() -> None:
    """Before a fork: a signal to the child waits until the child has left what it inherits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, REASONS)


def _take_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REASONS)


def _leave_signals() -> None:
    """In a process that user code forks: its signals are not the worker's, whose pipe it has."""
    signal.set_wakeup_fd(-1)
    for number in REASONS:
        signal.signal(number, signal.SIG_DFL)
    _take_signals()


class Control:
    """The wishes of the watchers, and the reasons to stop that come from elsewhere."""

    def __init__(self, path: Path) -> None:
        self._reader = ControlReader(path)
        self._stop_seen = False
        self._done_steps = 0
        self._poll = Poll()
        self._polled_after = -1
        self.interruption = ""
        """Why the run is to end though nobody asked for a stop; empty as long as it is not."""
        for number in REASONS:
            signal.signal(number, lambda received, _: self._interrupt(received))
        os.register_at_fork(
            before=_hold_signals, after_in_parent=_take_signals, after_in_child=_leave_signals
        )
        self._listen()

    @property
    def end_status(self) -> Literal["stopped", "interrupted"]:
        """What a run that ends before its last step has come to."""
        asked = self._reader.read().state == "stop" or not self.interruption
        return "stopped" if asked else "interrupted"

    def _interrupt(self, received: int) -> None:
        self.interruption = self.interruption or REASONS[signal.Signals(received)]

    def _listen(self) -> None:
        """Hear of signals while the main thread, which runs the handlers, is in native code."""
        receiver, sender = os.pipe()
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)

        def hear() -> None:
            while True:
                for number in os.read(receiver, 64):
                    with contextlib.suppress(KeyError, ValueError):
                        self._interrupt(number)

        threading.Thread(target=hear, name="signals", daemon=True).start()

    def stop_wanted(self) -> bool:
        if self._is_stop():
            self._stop_seen = True
        return self._stop_seen

    def pause_wanted(self) -> bool:
        return self._reader.read().state == "pause"

    def may_step(self, done_steps: int) -> bool:
        """Whether the worker may take the step after `done_steps`."""
        self._done_steps = done_steps
        return not self.interruption and self._reader.may_step(done_steps)

    def granted(self) -> bool:
        """Whether the next step is granted, be it that something else stands against it."""
        return self._reader.granted(self._done_steps)

    def wait(self) -> None:
        """Give the watchers a moment to change their wish."""
        if self._polled_after != self._done_steps:
            self._poll, self._polled_after = Poll(), self._done_steps
        self._poll.sleep()

    def end_if_stopped_early(self, before_the_end: Callable[[], None]) -> None:
        """Until the first step is done, act on a stop by ending the process.

        Export, graph building and compilation take many seconds in code that looks for no wish;
        nothing has been trained that could be lost.

        Args:
            before_the_end: called from another thread just before the process ends.
        """

        def watch() -> None:
            while self._done_steps == 0 and not self._stop_seen:
                if self._is_stop():
                    time.sleep(EARLY_GRACE_S)
                    if self._done_steps == 0 and not self._stop_seen:
                        before_the_end()
                        os._exit(0)
                time.sleep(EARLY_POLL_S)

        threading.Thread(target=watch, name="early-stop", daemon=True).start()

    def _is_stop(self) -> bool:
        return bool(self.interruption) or self._reader.read().state == "stop"
