"""Grants steps to several workers in turn, so that only one trains at any moment.

Everything that disturbs a machine then disturbs all engines alike, and a ratio between engines of
the same round means more than either figure alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from workbench.control import grant
from workbench.runs import Run

POLL_S = 0.004
ROUNDS = 20
"""Rounds that a comparison aims for: enough for an interval, few enough for long bursts."""


class Plan(NamedTuple):
    """How the steps of a comparison are divided."""

    warmup: int
    """Steps of each engine before the first round."""
    burst: int
    """Steps of each engine in a round."""
    total: int


def make_plan(steps: int, warmup_steps: int) -> Plan:
    """Divide `steps` into a warm-up and about twenty rounds of equal bursts."""
    warmup = min(warmup_steps, steps // 2)
    return Plan(warmup=warmup, burst=max(1, (steps - warmup) // ROUNDS), total=steps)


class Lockstep:
    """Drives the runs of a comparison from a thread of its own, until all have ended."""

    def __init__(self, plan: Plan, launchers: Mapping[str, Callable[[], Run]]) -> None:
        """Drive runs.

        Args:
            plan: how many steps each run gets at a time.
            launchers: for each engine, what starts its run with no step granted.
        """
        self._plan = plan
        self._launchers = launchers
        self._runs: dict[str, Run] = {}
        self._done: dict[str, int] = {}
        self._paused = threading.Event()
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._drive, name="lockstep", daemon=True)

    @property
    def runs(self) -> dict[str, Run]:
        """The runs started so far, by engine."""
        return dict(self._runs)

    @property
    def error(self) -> Exception | None:
        """What kept the comparison from going on, other than the failure of a run."""
        return self._error

    @property
    def paused(self) -> bool:
        return self._paused.is_set()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def pause(self) -> None:
        """Grant no further burst until `resume`."""
        self._paused.set()

    def resume(self) -> None:
        self._paused.clear()

    def stop(self) -> None:
        """Stop every run; each writes checkpoint and summary."""
        self._stopped.set()
        for run in self.runs.values():
            run.stop()

    def _drive(self) -> None:
        try:
            # One engine is built after another, and takes its first step, so that start-up times
            # do not disturb each other.
            for engine, launch in self._launchers.items():
                if self._stopped.is_set():
                    break
                self._runs[engine] = launch()
                self._advance(engine, 1)
            self._all_advance(self._plan.warmup - 1)
            remaining = self._plan.total - max(1, self._plan.warmup)
            while remaining > 0 and not self._stopped.is_set():
                self._all_advance(min(self._plan.burst, remaining))
                remaining -= self._plan.burst
        except Exception as error:  # kept for `Comparison.wait`, which raises it
            self._error = error
        finally:
            for run in self.runs.values():
                if self._stopped.is_set() or self._error:
                    run.stop()
            for run in self.runs.values():
                while not run.ended:
                    time.sleep(POLL_S)

    def _all_advance(self, steps: int) -> None:
        for engine in self._runs:
            self._advance(engine, steps)

    def _advance(self, engine: str, steps: int) -> None:
        """Grant `steps` more to the run of `engine` and wait until it has taken them."""
        while self._paused.is_set() and not self._stopped.is_set():
            time.sleep(POLL_S)
        run = self._runs[engine]
        if steps < 1 or self._stopped.is_set() or run.ended:
            return
        granted = self._done.get(engine, 0) + steps
        self._done[engine] = granted
        grant(run.folder.control_path, granted)
        while run.progress.done_steps < granted:
            if self._stopped.is_set() or run.ended:
                return
            time.sleep(POLL_S)
