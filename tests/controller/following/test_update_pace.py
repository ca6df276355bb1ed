"""A page updates less often while a run needs every core."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import time

import pytest

from tests.processes import until
from workbench.controller.following import update_pace
from workbench.controller.following.update_pace import (
    BUSY_PERIOD_S,
    UpdatePace,
    next_update,
)
from workbench.machine.threads import default_threads

WORKER = 7


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_updates_are_rare_while_a_run_leaves_no_core(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, used, idle = 100.0, 0.0, 0.0
    monkeypatch.setattr(update_pace.time, "monotonic", lambda: now)
    monkeypatch.setattr(update_pace, "cpu_times", lambda pids: dict.fromkeys(pids, used))
    monkeypatch.setattr(update_pace, "idle_seconds", lambda: idle)
    monkeypatch.setattr(update_pace, "default_threads", lambda: cores)
    pace = UpdatePace(lambda: [WORKER])

    def after(seconds: float, used_cores: float, by_others: float = 0.0) -> float:
        nonlocal now, used, idle
        now, used = now + seconds, used + seconds * used_cores
        idle += seconds * max(0.0, cores - used_cores - by_others)
        return pace()

    assert after(0.1, cores) == 0.0, "too short to tell"
    assert after(9, cores) == BUSY_PERIOD_S
    assert after(5, 0.0) == BUSY_PERIOD_S, "it is measured again after ten seconds"
    assert after(5, 2 * cores - 2) == BUSY_PERIOD_S
    assert after(10, cores - 1) == BUSY_PERIOD_S, "the other is the page's"
    if cores > 1:  # of a single one there is never more than one free
        assert after(10, 0.2) == 0.0
        assert after(10, cores - 1.4) == 0.0
        assert after(10, cores - 1.1) > 0.0
        assert after(10, 0.2) == 0.0
        assert after(10, cores - 1.4, by_others=1.0) > 0.0, "it gets no more of them"


def test_the_longer_a_run_the_rarer_its_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    now = idle = 0.0
    monkeypatch.setattr(update_pace.time, "monotonic", lambda: now)
    monkeypatch.setattr(update_pace, "cpu_times", lambda pids: dict.fromkeys(pids, 0.0))
    monkeypatch.setattr(update_pace, "idle_seconds", lambda: idle)
    monkeypatch.setattr(update_pace, "default_threads", lambda: 2)
    pace = UpdatePace(lambda: [WORKER])

    def at(seconds: float) -> float:
        nonlocal now
        now = seconds
        return pace()

    assert [at(s) for s in (20.0, 40.0, 60.0, 100.0, 3600.0)] == [2.0, 2.0, 3.0, 5.0, 5.0]
    now, idle = 3700.0, 200.0
    assert pace() == 0.0, "as often as there is something where it takes nothing from the run"


def test_a_growing_period_has_as_many_updates_as_one_that_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, idle = 86_400.0, 0.0  # a machine that is long up
    monkeypatch.setattr(update_pace.time, "monotonic", lambda: now)
    monkeypatch.setattr(update_pace, "cpu_times", lambda pids: dict.fromkeys(pids, 0.0))
    monkeypatch.setattr(update_pace, "idle_seconds", lambda: idle)
    monkeypatch.setattr(update_pace, "default_threads", lambda: 2)
    pace = UpdatePace(lambda: [WORKER])
    shown = [now]
    for tick in range(1, 1200):
        now = 86_400.0 + tick / 10
        if now >= next_update(shown[-1], pace()):
            shown.append(now)
    gaps = [later - earlier for earlier, later in itertools.pairwise(shown) if earlier > 86_404]
    assert min(gaps) > 0.9, "where the period changes"
    assert max(gaps) < 5.2
    assert 35 < len(gaps) < 45


def test_views_of_the_same_period_are_updated_together() -> None:
    assert next_update(100.3, 2.0) == next_update(101.9, 2.0) == 102.0
    assert next_update(102.0, 2.0) == 104.0
    assert next_update(100.3, 0.0) == 100.3
    assert next_update(-math.inf, 2.0) == -math.inf, "it was never shown"


def test_the_processor_time_of_a_worker_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_pace, "MEASURE_S", 0.2)
    monkeypatch.setattr(update_pace, "BUSY_MEASURE_S", 0.2)
    for limit in ("TAKEN_CORES", "FREE_CORES"):
        monkeypatch.setattr(update_pace, limit, default_threads() - 0.05)
    # Whatever else the machine does.
    monkeypatch.setattr(update_pace, "idle_seconds", lambda: time.monotonic() * default_threads())
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        pace = UpdatePace(lambda: [spinning.pid])
        until(lambda: pace() > 0.0)
        spinning.kill()
        spinning.wait()
        until(lambda: pace() == 0.0)  # it has ended
