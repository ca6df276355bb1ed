"""Detects ranks that have ended: none outlives the agent, or waits for one that has ended."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

import psutil

AGENT_VARIABLE = "WORKBENCH_RANKS_AGENT"
"""Process id of the agent, which starts the ranks and reports why one has ended."""

EXIT_PEER_LOST = 76
"""Exit status of a rank that ends because another has."""

POLL_S = 0.5
START_S = 5.0
"""Time limit for the agent to start all ranks after the first."""
LOST_WAIT_S = 2.0
"""Time limit for a rank to end after an exchange with it has failed, and for this one to end by
itself after that."""


class Peers:
    """The ranks that the agent has started, this one among them."""

    def __init__(self, count: int) -> None:
        self._agent = int(os.environ[AGENT_VARIABLE])
        self._dismissed = False
        self._die_with_agent()
        deadline = time.monotonic() + START_S
        self._all: list[psutil.Process] = []
        while len(self._all) < count and time.monotonic() < deadline:
            self._all = psutil.Process(self._agent).children()
            time.sleep(0.01)
        self._started = len(self._all) >= count

    def all_alive(self) -> bool:
        """Whether no other rank has ended before its time."""
        return self._dismissed or (self._started and all(map(_is_alive, self._all)))

    def dismiss(self) -> None:
        """Expect the others to end from now on."""
        self._dismissed = True

    def lost_after(self, error: Exception) -> bool:
        """Whether `error` was caused by another rank that has ended."""
        deadline = time.monotonic() + LOST_WAIT_S
        # PyTorch raises a RuntimeError if an exchange fails.
        while self.all_alive() and isinstance(error, RuntimeError) and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.all_alive()

    def exit_if_lost(self) -> bool:
        """End this process soon if another rank has ended; returns whether one has."""
        if self.all_alive():
            return False
        # It may have failed for the same reason, and be writing that down.
        threading.Thread(target=_exit_later, name="exit", daemon=True).start()
        return True

    def watch(self) -> None:
        """In ranks other than 0: end this process soon after another rank has ended."""

        def poll() -> None:
            while not self.exit_if_lost():
                time.sleep(POLL_S)

        threading.Thread(target=poll, name="peers", daemon=True).start()

    def _die_with_agent(self) -> None:
        """Let the system kill this process when the agent dies; except on Linux, poll for that."""
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
            if os.getppid() != self._agent:
                os._exit(EXIT_PEER_LOST)
            return

        def poll() -> None:
            while os.getppid() == self._agent:
                time.sleep(POLL_S)
            os._exit(EXIT_PEER_LOST)

        threading.Thread(target=poll, name="agent", daemon=True).start()


def _exit_later() -> None:
    time.sleep(LOST_WAIT_S)
    os._exit(EXIT_PEER_LOST)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
