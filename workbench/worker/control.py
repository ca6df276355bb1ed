"""Requests to a worker: by the control file, or by a signal that interrupts the run."""

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
"""Time for the training loop to handle a stop request itself during start-up."""
REASONS = {
    signal.SIGHUP: "The process that started the run has exited.",
    signal.SIGTERM: "The run received SIGTERM.",
}
"""The signals that interrupt a run, and the reason in its summary."""


def _block_signals() -> None:
    """Before a fork, so that the child cannot receive a signal before it resets the handlers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, REASONS)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REASONS)


def _reset_signals() -> None:
    """In a process that user code forks, which must not write to the worker's wake-up pipe."""
    signal.set_wakeup_fd(-1)
    for number in REASONS:
        signal.signal(number, signal.SIG_DFL)
    _unblock_signals()


class Control:
    """Requests to the worker: run, pause, stop, granted steps, and interruption by a signal."""

    def __init__(self, path: Path) -> None:
        self._reader = ControlReader(path)
        self._stop_seen = False
        self._done_steps = 0
        self._poll = Poll()
        self._polled_after = -1
        self.is_request: Callable[[], bool] = lambda: True
        """Whether a signal received now is a request to end the run."""
        self.interruption = ""
        """Why a signal interrupts the run; empty if none does."""
        for number in REASONS:
            signal.signal(number, lambda received, _: self._interrupt(received))
        os.register_at_fork(
            before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_reset_signals
        )
        self._start_signal_thread()

    @property
    def end_status(self) -> Literal["stopped", "interrupted"]:
        """The status of a run that ends before its last step."""
        requested = self._reader.read().state == "stop" or not self.interruption
        return "stopped" if requested else "interrupted"

    def _interrupt(self, received: int) -> None:
        reason = REASONS[signal.Signals(received)]
        if self.is_request():
            self.interruption = self.interruption or reason

    def _start_signal_thread(self) -> None:
        """Receive signals while the main thread, which runs the handlers, is in native code."""
        receiver, sender = os.pipe()
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)

        def receive() -> None:
            while True:
                for number in os.read(receiver, 64):
                    with contextlib.suppress(KeyError, ValueError):
                        self._interrupt(number)

        threading.Thread(target=receive, name="signals", daemon=True).start()

    def stop_requested(self) -> bool:
        if self._is_stop():
            self._stop_seen = True
        return self._stop_seen

    def pause_requested(self) -> bool:
        return self._reader.read().state == "pause"

    def may_step(self, done_steps: int) -> bool:
        """Whether the worker may take the step after `done_steps`."""
        self._done_steps = done_steps
        return not self.interruption and self._reader.may_step(done_steps)

    def granted(self) -> bool:
        """Whether the next step is granted, independently of the requested state."""
        return self._reader.granted(self._done_steps)

    def grants_all(self, total_steps: int) -> bool:
        """Whether all steps and what follows them are granted: it takes no turns with others."""
        return self._reader.granted(total_steps)

    def requested_saves(self) -> int:
        """How many checkpoints the clients have requested so far."""
        return self._reader.requested_saves()

    def wait(self) -> None:
        """Sleep before the requests are read again."""
        if self._polled_after != self._done_steps:
            self._poll, self._polled_after = Poll(), self._done_steps
        self._poll.sleep()

    def exit_if_stopped_early(self, before_exit: Callable[[], None]) -> None:
        """Exit the process on a stop request before the first step is done.

        Export, graph building and compilation take many seconds, in which no request is read. At
        most the first step is lost: it counts as done after its evaluation and its checkpoint.

        Args:
            before_exit: called from another thread just before the process exits.
        """

        def poll() -> None:
            while self._done_steps == 0 and not self._stop_seen:
                if self._is_stop():
                    time.sleep(EARLY_GRACE_S)
                    if self._done_steps == 0 and not self._stop_seen:
                        before_exit()
                        os._exit(0)
                time.sleep(EARLY_POLL_S)

        threading.Thread(target=poll, name="early-stop", daemon=True).start()

    def _is_stop(self) -> bool:
        return bool(self.interruption) or self._reader.read().state == "stop"
