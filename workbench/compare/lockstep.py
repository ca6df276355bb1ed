"""Runs the workers of a comparison in turns, so that only one is active at a time.

Disturbances of the machine then affect all engines alike, and the ratio between engines in the same
round is more precise than their separate throughputs. A turn lasts until the worker is idle again:
it includes the evaluation and the checkpoint at the end of an epoch. Finishing is a turn as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from workbench.machine.load import Load, LoadMeter, wait_for_quiet
from workbench.run_folder.control import Poll, grant
from workbench.run_folder.results.throughput import round_length
from workbench.runs import Run

PAUSING = "pausing after the current burst"
"""Phase until the engine that starts, or takes its turn, has done so."""
QUIET_LIMIT_S = 120.0
"""Longest wait for a quiet machine, in addition to the requested quiet time."""


class LockstepPlan(NamedTuple):
    """How the steps of a comparison are divided."""

    warmup: int
    """Steps of each engine before the first round."""
    burst: int
    """Steps per engine in one round."""
    total: int

    @property
    def unmeasured(self) -> int:
        """Number of steps per engine before the first round: the warm-up, at least one."""
        return max(1, self.warmup)

    @property
    def rounds(self) -> int:
        """Number of whole rounds."""
        return (self.total - self.unmeasured) // self.burst


def make_plan(steps: int, warmup_steps: int) -> LockstepPlan:
    """Divide `steps` into a warm-up and about twenty rounds of equal bursts."""
    warmup = min(warmup_steps, steps // 2)
    return LockstepPlan(warmup=warmup, burst=round_length(steps, warmup), total=steps)


class Lockstep:
    """Controls the runs of a comparison from its own thread, until all have ended."""

    def __init__(
        self,
        plan: LockstepPlan,
        launchers: Mapping[str, Callable[[], Run]],
        *,
        quiet_s: float = 0.0,
        on_load: Callable[[Load | None], None] = lambda _: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the controller; `start` starts it.

        Args:
            plan: how the steps are divided.
            launchers: for each engine, a function that starts its run with no step granted.
            quiet_s: before starting, wait until the machine has been idle for this many seconds.
            on_load: called after each round with the load of other programs (None: not known), from
                the controlling thread, while no run is active.
            on_end: called once all runs have ended, from the controlling thread.
        """
        self._plan = plan
        self._launchers = launchers
        self._quiet_s = quiet_s
        self._on_load = on_load
        self._on_end = on_end
        self._runs: dict[str, Run] = {}
        self._done: dict[str, int] = {}
        self._meter = LoadMeter(self._watchdog_pids)
        self._phase = ""
        self._paused = threading.Event()
        self._waits = threading.Event()
        """Set while it waits for the end of a pause."""
        self._stopped = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._drive, name="lockstep", daemon=True)

    @property
    def runs(self) -> dict[str, Run]:
        """The runs started so far, by engine."""
        return dict(self._runs)

    @property
    def error(self) -> Exception | None:
        """The error that ended the comparison, other than the failure of a run."""
        return self._error

    @property
    def phase(self) -> str:
        """The current activity other than training steps, as a short text; empty during steps."""
        pausing = self.alive and self._paused.is_set() and not self._waits.is_set()
        return PAUSING if pausing and not self._phase else self._phase

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
        """Grant no further turns until `resume`."""
        self._paused.set()

    def resume(self) -> None:
        self._paused.clear()

    def stop(self) -> None:
        """Stop all runs, the active one first; each writes a checkpoint and its summary."""
        self._stopped.set()
        self._paused.clear()

    def _drive(self) -> None:
        try:
            self._wait_for_quiet()
            self._set_phase("")
            # Engines start one after another, each up to its first step, so that they do not
            # disturb each other's start-up times.
            for engine, launch in self._launchers.items():
                self._wait_while_paused()
                if self._stopped.is_set():
                    break
                self._runs[engine] = launch()
                self._advance(engine, 1)
            self._all_advance(self._plan.warmup - 1)
            remaining = self._plan.total - self._plan.unmeasured
            while remaining > 0 and not self._stopped.is_set():
                self._meter.start()
                self._all_advance(min(self._plan.burst, remaining))
                self._meter.stop()
                self._on_load(self._meter.take())
                remaining -= self._plan.burst
            for engine in self._runs:
                self._finish(engine)
        except Exception as error:  # raised by `Comparison.wait`
            self._error = error
        finally:
            for run in self._runs.values():
                # One whose folder is corrupt must not keep the others waiting for their turn.
                try:
                    self._end(run)
                except Exception as error:
                    self._error = self._error or error
            try:
                self._on_end()
            except Exception as error:
                self._error = self._error or error

    def _wait_for_quiet(self) -> None:
        limit_s = self._quiet_s + QUIET_LIMIT_S
        while True:
            wait_for_quiet(self._quiet_s, limit_s, self._stopped.is_set, self._set_phase)
            if not self._paused.is_set() or self._stopped.is_set():
                return
            self._wait_while_paused()  # it may be busy afterwards

    def _all_advance(self, steps: int) -> None:
        for engine in self._runs:
            self._advance(engine, steps)

    def _advance(self, engine: str, steps: int) -> None:
        """Grant `engine` `steps` more steps and wait until it is idle again."""
        if steps > 0:
            self._done[engine] = self._done.get(engine, 0) + steps
            self._give_turn(self._runs[engine], self._done[engine])

    def _finish(self, engine: str) -> None:
        """Let `engine` evaluate, write its checkpoint and exit, and wait for it."""
        self._set_phase(f"{engine}: finishing")
        self._give_turn(self._runs[engine], self._plan.total + 1)

    def _give_turn(self, run: Run, granted_steps: int) -> None:
        """Grant `run` a total of `granted_steps` and wait until it is idle or has ended."""
        self._wait_while_paused()
        if self._stopped.is_set() or not run.has_worker:
            return
        grant(run.folder.control_path, granted_steps)
        poll = Poll()
        while run.has_worker and not run.waits_after(granted_steps):
            if self._stopped.is_set():
                self._end(run)
                return
            poll.sleep()

    def _wait_while_paused(self) -> None:
        if not self._paused.is_set():
            return
        # The load of other programs during a pause does not matter.
        measuring = self._meter.running
        self._meter.stop()
        poll = Poll()
        self._waits.set()
        while self._paused.is_set() and not self._stopped.is_set():
            poll.sleep()
        self._waits.clear()
        if measuring:
            self._meter.start()

    def _end(self, run: Run) -> None:
        """Stop `run` and wait until its worker has exited."""
        run.stop()
        poll = Poll()
        while run.has_worker or not run.ended:
            poll.sleep()

    def _watchdog_pids(self) -> list[int]:
        pids = [run.watchdog_pid for run in self._runs.values()]
        return [pid for pid in pids if pid is not None]

    def _set_phase(self, phase: str) -> None:
        self._phase = phase
