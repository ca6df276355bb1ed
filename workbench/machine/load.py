"""The time that other programs take from the cores, while something is measured.

Everything that runs on this process's cores counts, a hypervisor's other guests (steal) included,
but for the processes that are named: the workers of a comparison. The kernel of the notebook, the
browser and a cell that computes disturb a measurement as any other program does, so they count.

Busy time is taken as what idle time leaves: Linux keeps idle time exactly, while the time of short
programs is sampled. In a container /proc/stat tells of the host: its other containers
count, as they take the same cores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import psutil

from workbench.machine.threads import default_threads

BUSY_SHARE = 0.05
"""Share of the cores beyond which a machine is busy."""
TICK_S = 0.01
"""What CPU times are counted in."""
LOOK_S = 0.5
"""Time between two looks while a quiet machine is awaited."""


class Load(NamedTuple):
    """What other programs took while something was measured."""

    wall_s: float
    """How long was measured."""
    other_s: float
    """Seconds of all cores together that other programs took."""
    cores: int
    """Cores that there are to take."""

    @property
    def other_cores(self) -> float:
        """Cores that other programs took on average; NaN when nothing was measured."""
        return self.other_s / self.wall_s if self.wall_s else float("nan")

    @property
    def busy(self) -> bool:
        """Whether that is more than `BUSY_SHARE` of the cores, beyond what the clocks can tell."""
        certain_s = self.other_s - TICK_S * (self.cores + 1)
        return certain_s > BUSY_SHARE * self.wall_s * self.cores

    @property
    def sentence(self) -> str:
        """What other programs took, such as "other programs took 1.4 of 2 cores"."""
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"other programs took {self.other_cores:.1f} of {cores}"


def total_load(loads: Sequence[Load]) -> Load | None:
    """Several measurements as one; None when there is none."""
    if not loads:
        return None
    wall_s, other_s, cores = zip(*loads, strict=True)
    return Load(sum(wall_s), sum(other_s), max(cores))


class LoadMeter:
    """Measures what other programs take between `start` and `stop`, as often as these are called.

    The sum of these stretches is taken by `take`.
    """

    def __init__(self, own: Callable[[], Iterable[int]] = tuple) -> None:
        """Make a meter.

        Args:
            own: ids of the processes that, with their children, do not count as other.
        """
        self._own = own
        self._begun: tuple[_Clock, dict[int, float]] | None = None
        self._wall_s = self._other_s = 0.0
        self._cores = default_threads()
        self._known = True

    @property
    def running(self) -> bool:
        """Whether a stretch has begun and not ended."""
        return self._begun is not None

    def start(self) -> None:
        """Begin a stretch."""
        own = _cpu_times(self._own())
        # The clock comes last here and first in `stop`: what the meter takes is in no stretch.
        self._begun = _Clock.now(), own

    def stop(self) -> None:
        """End the stretch that `start` began, if it did."""
        if self._begun is None:
            return
        now = _Clock.now()
        (began, own_before), self._begun = self._begun, None
        own = _cpu_times(own_before)
        wall_s = now.wall_s - began.wall_s
        busy_s = now.cores * wall_s - (now.idle_s - began.idle_s)
        self._wall_s += wall_s
        self._cores = now.cores
        self._other_s += busy_s - sum(own[pid] - own_before[pid] for pid in own)
        # A process that has ended took its times along; some containers show a clock that stands.
        stands = now.all_s - began.all_s < wall_s * now.cores / 2 - TICK_S * now.cores
        self._known &= own.keys() == own_before.keys() and not stands

    def take(self) -> Load | None:
        """All stretches since the last `take`; None when they cannot be told."""
        load = Load(self._wall_s, max(0.0, self._other_s), self._cores)
        known = self._known and self._wall_s > 0
        self._wall_s = self._other_s = 0.0
        self._known = True
        return load if known else None


def wait_for_quiet(
    quiet_s: float, limit_s: float, given_up: Callable[[], bool], tell: Callable[[str], None]
) -> bool:
    """Wait until the machine has been quiet for `quiet_s` in a row.

    Args:
        quiet_s: seconds of quiet; 0: do not wait.
        limit_s: wait so many seconds at most.
        given_up: asked at every look whether to wait no longer.
        tell: told at every look what is waited for, in a few words.

    Returns:
        Whether the machine became quiet.
    """
    began = time.monotonic()
    quiet_for_s = 0.0
    meter = LoadMeter()
    limit = f"{limit_s / 60:.0f} min" if limit_s >= 120 else f"{limit_s:g} s"
    terms = f"needs {quiet_s:g} s of quiet, starts anyway after {limit}"
    while quiet_for_s < quiet_s:
        if given_up() or time.monotonic() - began > limit_s:
            return False
        meter.start()
        time.sleep(min(LOOK_S, quiet_s))
        meter.stop()
        load = meter.take()
        if load is None:
            return False
        quiet_for_s = 0.0 if load.busy else quiet_for_s + load.wall_s
        found = load.sentence if load.busy else f"quiet for {quiet_for_s:.1f} s"
        tell(f"waiting for a quiet machine: {found}; {terms}")
    return True


class _Clock(NamedTuple):
    """Where the clocks of the cores stand."""

    wall_s: float
    idle_s: float
    """Of all cores together; waiting for a disk is idle."""
    all_s: float
    """What every core did, summed: advances with the wall clock, times the cores."""
    cores: int

    @classmethod
    def now(cls) -> _Clock:
        cores = _times_of_own_cores()
        idle_s = sum(times.idle + getattr(times, "iowait", 0.0) for times in cores)
        # Linux counts a guest's time as its host's user time too.
        guests = ("guest", "guest_nice")
        twice_s = sum(getattr(times, name, 0.0) for times in cores for name in guests)
        return cls(time.perf_counter(), idle_s, sum(map(sum, cores)) - twice_s, len(cores))


def _times_of_own_cores() -> list[Any]:
    """One named tuple of seconds a core; which fields there are depends on the system."""
    every = psutil.cpu_times(percpu=True)
    if not hasattr(os, "sched_getaffinity"):
        return list(every)
    own = [core for core in os.sched_getaffinity(0) if core < len(every)]
    # Cores that are off have no line; where that shifts the numbers, every core is looked at.
    return [every[core] for core in own] if len(own) == default_threads() else list(every)


def _cpu_times(pids: Iterable[int]) -> dict[int, float]:
    """Seconds that each process took with all its children; a process that has ended has none."""
    found = {}
    for pid in pids:
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        found[pid] = sum(map(_cpu_time, family))
    return found


def _cpu_time(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
