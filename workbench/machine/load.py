"""CPU time used by other programs during a measurement.

Everything that runs on the cores of this process counts, other guests of a hypervisor (steal time)
included, except for excluded processes: the workers of a comparison. The notebook kernel, the
browser and a running cell disturb a measurement like any other program, so they count.

Busy time is total time minus idle time: Linux measures idle time exactly, but samples the time of
short-lived processes. In a container /proc/stat covers the whole host: other containers count, as
they use the same cores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import psutil

from workbench.machine.threads import default_threads

BUSY_CORES = 0.3
"""Cores in use by other programs above which a machine counts as busy: up to there, the ratios of
engines were those of a quiet machine (docs/measurements.md). A page that draws its charts uses 0.1
to 0.2."""
BUSY_SHARE = 0.05
"""The same as a share of the cores, where that is more."""
TICK_S = 0.01
"""Resolution of CPU times."""
QUIET_POLL_S = 0.5
"""Polling interval while waiting for a quiet machine."""


class Load(NamedTuple):
    """CPU time used by other programs during a measurement."""

    wall_s: float
    """Duration of the measurement."""
    other_s: float
    """CPU seconds of other programs, summed over the cores."""
    cores: int
    """Number of cores that this process may use."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Load:
        """That of a record, which has been validated."""
        return cls(record["wall_s"], record["other_s"], record["cores"])

    @property
    def other_cores(self) -> float:
        """Average number of cores used by other programs; NaN if nothing was measured."""
        return self.other_s / self.wall_s if self.wall_s else float("nan")

    @property
    def busy(self) -> bool:
        """Whether other programs used more than `BUSY_CORES` and more than `BUSY_SHARE` of the
        cores, clock error excluded."""
        certain_s = self.other_s - TICK_S * (self.cores + 1)
        limit = max(BUSY_CORES, BUSY_SHARE * self.cores)
        return self.wall_s > 0 and certain_s > limit * self.wall_s

    @property
    def sentence(self) -> str:
        """For messages, such as "other programs used 1.4 of 2 cores"."""
        return f"other programs used {self.share_text}"

    @property
    def share_text(self) -> str:
        """What they used, as "1.4 of 2 cores"."""
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"{self.other_cores:.1f} of {cores}"


def total_load(loads: Sequence[Load]) -> Load | None:
    """The sum of several measurements; None if there is none."""
    if not loads:
        return None
    wall_s, other_s, cores = zip(*loads, strict=True)
    return Load(sum(wall_s), sum(other_s), max(cores))


class LoadMeter:
    """Measures the CPU time of other programs in intervals from `start` to `stop`.

    `take` returns the sum of the intervals since the last call. With `lap` they follow each other.
    """

    def __init__(self, excluded_pids: Callable[[], Iterable[int]] = tuple) -> None:
        """Create a meter.

        Args:
            excluded_pids: returns the ids of processes that, with their children, are not counted.
        """
        self._excluded_pids = excluded_pids
        self._started: tuple[_Clock, dict[int, float]] | None = None
        self._wall_s = self._other_s = 0.0
        self._cores = default_threads()
        self._measurable = True

    @property
    def running(self) -> bool:
        """Whether an interval has started and not ended."""
        return self._started is not None

    def start(self) -> None:
        """Start an interval."""
        excluded = cpu_times(self._excluded_pids())
        # The clock is read last here and first in `stop`: the meter itself is not measured.
        self._started = _Clock.now(), excluded

    def stop(self) -> None:
        """End the interval; does nothing if none has started."""
        if self._started is not None:
            self._end(*self._started)
            self._started = None

    def lap(self) -> None:
        """End the interval and start the next one: with one reading, as long as the same processes
        are excluded. That of the list of all processes takes milliseconds."""
        if self._started is not None:
            end = self._end(*self._started)
            if set(self._excluded_pids()) == end[1].keys():
                self._started = end
                return
        self.start()

    def _end(
        self, start: _Clock, excluded_before: dict[int, float]
    ) -> tuple[_Clock, dict[int, float]]:
        """Add the interval that began with those readings; returns those of now."""
        now = _Clock.now()
        excluded = cpu_times(excluded_before)
        wall_s = now.wall_s - start.wall_s
        busy_s = now.cores * wall_s - (now.idle_s - start.idle_s)
        self._wall_s += wall_s
        self._cores = now.cores
        self._other_s += busy_s - sum(excluded[pid] - excluded_before[pid] for pid in excluded)
        # The times of a process that has ended are lost; in some containers the clock stops.
        stopped = now.all_s - start.all_s < wall_s * now.cores / 2 - TICK_S * now.cores
        self._measurable &= excluded.keys() == excluded_before.keys() and not stopped
        return now, excluded

    def take(self) -> Load | None:
        """The sum of the intervals since the last call; None if they could not be measured."""
        load = Load(self._wall_s, max(0.0, self._other_s), self._cores)
        measurable = self._measurable and self._wall_s > 0
        self._wall_s = self._other_s = 0.0
        self._measurable = True
        return load if measurable else None


def wait_for_quiet(
    quiet_s: float, limit_s: float, cancelled: Callable[[], bool], report: Callable[[str], None]
) -> bool:
    """Wait until the machine has been quiet for `quiet_s` without interruption.

    Args:
        quiet_s: seconds; 0: do not wait.
        limit_s: longest wait, in seconds.
        cancelled: called at every poll; True ends the wait.
        report: called at every poll with a short text about the wait.

    Returns:
        Whether the machine became quiet.
    """
    began = time.monotonic()
    quiet_for_s = 0.0
    meter = LoadMeter()
    limit = f"{limit_s / 60:.0f} min" if limit_s >= 120 else f"{limit_s:g} s"
    terms = f"needs {quiet_s:g} s of quiet, starts anyway after {limit}"
    while quiet_for_s < quiet_s:
        if cancelled() or time.monotonic() - began > limit_s:
            return False
        meter.start()
        time.sleep(min(QUIET_POLL_S, quiet_s))
        meter.stop()
        load = meter.take()
        if load is None:
            return False
        quiet_for_s = 0.0 if load.busy else quiet_for_s + load.wall_s
        found = load.sentence if load.busy else f"quiet for {quiet_for_s:.1f} s"
        report(f"waiting for a quiet machine: {found}; {terms}")
    return True


def idle_seconds() -> float:
    """Seconds that the cores of this process have been idle so far, summed over them."""
    return _Clock.now().idle_s


def cpu_times(pids: Iterable[int]) -> dict[int, float]:
    """CPU seconds of each process with all its children; without processes that have ended."""
    found = {}
    for pid in pids:
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        found[pid] = sum(map(_cpu_time, family))
    return found


class _Clock(NamedTuple):
    """A reading of the CPU clocks."""

    wall_s: float
    idle_s: float
    """Summed over the cores; waiting for a disk counts as idle."""
    all_s: float
    """All times of all cores: advances as fast as the wall clock times the number of cores."""
    cores: int

    @classmethod
    def now(cls) -> _Clock:
        cores = _core_times()
        idle_s = sum(times.idle + getattr(times, "iowait", 0.0) for times in cores)
        # Linux counts guest time as user time as well.
        guests = ("guest", "guest_nice")
        twice_s = sum(getattr(times, name, 0.0) for times in cores for name in guests)
        return cls(time.perf_counter(), idle_s, sum(map(sum, cores)) - twice_s, len(cores))


def _core_times() -> list[Any]:
    """For each core of this process a named tuple of seconds; its fields depend on the system."""
    every = psutil.cpu_times(percpu=True)
    if not hasattr(os, "sched_getaffinity"):
        return list(every)
    usable = [core for core in os.sched_getaffinity(0) if core < len(every)]
    # Offline cores have no entry; if that shifts the indices, all cores are counted.
    return [every[core] for core in usable] if len(usable) == default_threads() else list(every)


def _cpu_time(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
