"""Throughput of a worker whose run the whole interface shows, over the same worker by itself.

Before the page is shown, the same is measured with an empty notebook: what JupyterLab takes.

One process holds the engine and takes bursts in turn. All the while a `Workbench` in JupyterLab,
shown by Chromium, follows the run; in every other burst server, kernel and browser are held, so
that nothing but the worker runs. After it the page takes in what it missed, in a burst that does
not count. A burst that counts is as long as the longest time between two updates of the page, so
that it has as many of them as any other time. It is measured once the page has settled: before,
JupyterLab has been loaded, of which Chromium collects the garbage, and updates are more frequent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.page.lab_page import LabPage, lab_page
from benchmarks.result import Result
from benchmarks.runs.loop_overhead import CATCH_UP_S, Turns
from workbench.compare.rounds.statistics import ratio
from workbench.controller.following.update_pace import LONGEST_PERIOD_S, PERIOD_SHARE

ENGINES = ("ondevice", "pytorch", "pytorch-compile", "ortmodule")
BURST_S = LONGEST_PERIOD_S
SETTLED_S = LONGEST_PERIOD_S / PERIOD_SHARE
"""Seconds after which updates are as rare as they get."""
ROUNDS, QUICK_ROUNDS = 40, 6
AIM = 0.97
SHOW = """
import workbench as wb
page = wb.Workbench()
page.show(wb.load_run({id!r}))
page.step = "train"
page
"""


def measure(quick: bool, engines: Sequence[str] = ENGINES) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return [result for engine in engines for result in measure_engine(engine, rounds)]


def measure_engine(engine: str, rounds: int) -> list[Result]:
    """The figures of an empty notebook, and of the page."""
    with Turns(engine) as turns:
        burst = int(BURST_S * turns.steps_per_s())
        turns.seconds("worker", burst)
        settle = int(burst * SETTLED_S / BURST_S)
        with lab_page("1 + 1", SHOW.format(id=turns.run_id)) as lab:
            lab.run(0)
            turns.seconds("worker", settle)
            empty = in_turn(turns, burst, rounds, lab)
            lab.run(1)
            turns.seconds("worker", settle)
            lab.page.locator(".wb-step-train .wb-panel-loss canvas").wait_for()
            shown = in_turn(turns, burst, rounds, lab)
            check_followed(lab)
    return [
        as_result(f"an empty notebook open, `{engine}`", *empty, burst, math.inf),
        as_result(f"the interface attached, `{engine}`", *shown, burst, AIM),
    ]


def as_result(shown: str, seconds: np.ndarray, used_s: float, burst: int, aim: float) -> Result:
    """The figure of what `in_turn` returned."""
    share = used_s / float(seconds[:, 1].sum())
    headless_us = 1e6 * float(np.median(seconds[:, 0])) / burst
    found = ratio(seconds[:, 0], seconds[:, 1])
    return Result(
        what=f"throughput with {shown}, digits-mlp, over headless",
        value=found.median,
        low=found.low,
        high=found.high,
        spread=f"95 % interval over {len(seconds)} rounds",
        unit="",
        aim=aim,
        at_least=True,
        note=f"headless step {headless_us:.0f} µs; all else took {share:.1%} of one core",
    )


def check_followed(lab: LabPage) -> None:
    """Raise unless the page shows the run as one that goes on."""
    status = lab.page.locator(".wb-status-message").first.inner_text()
    if not status.startswith("Training"):
        raise RuntimeError(f"The page did not follow the run to its end: {status}")


def in_turn(turns: Turns, burst: int, rounds: int, lab: LabPage) -> tuple[np.ndarray, float]:
    """Seconds of each burst, and the interface's processor time in those that it shows.

    The first have the shape (rounds, 2): headless, and shown; who begins alternates.
    """
    seconds = np.empty((rounds, 2))
    used_s = 0.0
    for number in range(rounds):
        for column in (0, 1) if number % 2 else (1, 0):
            if column == 0:
                with lab.held():
                    seconds[number, column] = turns.seconds("worker", burst)
                turns.seconds("worker", int(burst * CATCH_UP_S / BURST_S))
            else:
                before_s = lab.processor_seconds()
                seconds[number, column] = turns.seconds("worker", burst)
                used_s += lab.processor_seconds() - before_s
    return seconds, used_s
