"""The CPU time of other programs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from workbench.machine.load import Load, LoadMeter, total_load, wait_for_quiet
from workbench.machine.threads import default_threads

SPIN = "while True: pass"


@pytest.fixture
def spinning() -> Iterator[subprocess.Popen[bytes]]:
    """A process that takes a core for itself."""
    process = subprocess.Popen([sys.executable, "-c", SPIN])
    yield process
    process.kill()
    process.wait()


def measured(meter: LoadMeter, seconds: float = 0.5) -> Load:
    meter.start()
    time.sleep(seconds)
    meter.stop()
    load = meter.take()
    assert load is not None
    return load


def let_take(spinning: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until the process has taken so much, by its own clock: a busy machine gives it less."""
    process = psutil.Process(spinning.pid)
    before = process.cpu_times()
    while sum(process.cpu_times()[:2]) - sum(before[:2]) < seconds:
        time.sleep(0.01)


def test_a_program_that_is_not_ours_counts_and_ours_does_not(
    spinning: subprocess.Popen[bytes],
) -> None:
    """Both meters see the same other load, but for what the process took, by its own clock."""
    both = LoadMeter(), LoadMeter(lambda: [spinning.pid])
    for meter in both:
        meter.start()
    let_take(spinning, 0.3)
    for meter in reversed(both):
        meter.stop()
    everything, others = (meter.take() for meter in both)
    assert everything is not None
    assert others is not None
    assert everything.cores == others.cores == default_threads()
    assert everything.other_s > 0.25
    assert everything.other_s - others.other_s > 0.25
    assert others.other_s < everything.wall_s * everything.cores


def test_laps_follow_each_other_also_as_a_process_begins_or_ends(
    spinning: subprocess.Popen[bytes],
) -> None:
    pids = [spinning.pid]
    meter = LoadMeter(lambda: pids)
    alone = LoadMeter()
    meter.start()
    alone.start()
    let_take(spinning, 0.3)
    meter.lap()
    load, running = meter.take(), meter.running
    alone.stop()
    everything = alone.take()
    assert load is not None
    assert everything is not None
    assert running
    assert everything.other_s - load.other_s > 0.25, "that of the excluded process"
    pids = []
    meter.lap()
    assert meter.take() is not None, "it has not ended"
    let_take(spinning, 0.3)
    meter.lap()
    load = meter.take()
    assert load is not None
    assert load.other_s > 0.25, "it is excluded no more"


def test_intervals_are_summed_without_the_time_between_them() -> None:
    meter = LoadMeter()
    began = time.perf_counter()
    meter.start()
    assert meter.running
    time.sleep(0.05)
    meter.stop()
    assert not meter.running
    between = time.perf_counter()
    time.sleep(0.3)
    left_out = time.perf_counter() - between
    meter.start()
    meter.stop()
    meter.stop()
    load = meter.take()
    assert load is not None
    assert load.wall_s >= 0.05
    assert load.wall_s <= time.perf_counter() - began - left_out
    assert meter.take() is None


def test_a_worker_that_ended_leaves_the_load_unknown() -> None:
    process = subprocess.Popen([sys.executable, "-c", SPIN])
    meter = LoadMeter(lambda: [process.pid])
    meter.start()
    process.kill()
    process.wait()
    meter.stop()
    assert meter.take() is None
    # The next stretch is known again: the process is no more.
    assert measured(LoadMeter(lambda: [process.pid]), 0.05).cores > 0


def test_a_clock_that_does_not_advance_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers that hide /proc/stat."""
    standing = psutil.cpu_times(percpu=True)
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: standing)
    meter = LoadMeter()
    meter.start()
    time.sleep(0.2)
    meter.stop()
    assert meter.take() is None


@pytest.mark.parametrize(
    ("load", "busy"),
    [
        (Load(10.0, 0.2, 2), False),
        # A page that draws its charts.
        (Load(10.0, 2.9, 2), False),
        (Load(10.0, 3.1, 2), True),
        (Load(10.0, 7.9, 16), False),
        (Load(10.0, 8.2, 16), True),
        (Load(10.0, 14.0, 2), True),
        # Three ticks of ten milliseconds are nothing that the clocks can tell.
        (Load(0.05, 0.03, 2), False),
        (Load(0.05, 0.1, 2), True),
        (Load(0.0, 0.0, 2), False),
        (Load(0.0, 1.0, 2), False),
    ],
)
def test_a_machine_is_busy_when_others_take_a_part_of_a_core(load: Load, busy: bool) -> None:
    assert load.busy is busy


def test_the_load_is_a_sentence() -> None:
    assert Load(10.0, 14.0, 2).sentence == "other programs used 1.4 of 2 cores"
    assert Load(10.0, 5.0, 1).sentence == "other programs used 0.5 of 1 core"
    assert total_load([Load(1.0, 0.5, 2), Load(3.0, 2.5, 2)]) == Load(4.0, 3.0, 2)
    assert total_load([]) is None


class Meter:
    """Stands in for the clocks: each look finds what is next in `loads`."""

    loads: list[Load]

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def take(self) -> Load | None:
        return self.loads.pop(0)


def test_the_machine_must_stay_idle_and_the_wait_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy, quiet = Load(0.5, 0.7, 2), Load(0.5, 0.0, 2)
    Meter.loads = [quiet, busy, quiet, quiet, quiet]
    monkeypatch.setattr("workbench.machine.load.LoadMeter", Meter)
    monkeypatch.setattr("workbench.machine.load.QUIET_POLL_S", 0.0)
    told: list[str] = []
    assert wait_for_quiet(1.0, 60.0, lambda: False, told.append)
    assert told == [
        f"waiting for a quiet machine: {found}; needs 1 s of quiet, starts anyway after 60 s"
        for found in (
            "quiet for 0.5 s",
            "other programs used 1.4 of 2 cores",
            "quiet for 0.5 s",
            "quiet for 1.0 s",
        )
    ]


def test_the_wait_for_an_idle_machine_has_a_limit(
    spinning: subprocess.Popen[bytes],
) -> None:
    assert spinning.poll() is None
    assert wait_for_quiet(0.0, 0.0, lambda: False, lambda _: None)
    assert not wait_for_quiet(3600.0, 0.2, lambda: False, lambda _: None)
    assert not wait_for_quiet(3600.0, 3600.0, lambda: True, lambda _: None)
