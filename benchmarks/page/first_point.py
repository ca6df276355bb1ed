"""How long after the first step its point reaches the page in the notebook's client."""

from __future__ import annotations

import numpy as np

import workbench as wb
from benchmarks.page.watcher import Watcher
from benchmarks.result import Result
from workbench.run_folder.events import EventReader

ENGINES = ("pytorch", "ondevice")


def measure(quick: bool) -> list[Result]:
    repeats = 2 if quick else 5
    with Watcher() as watcher:
        return [measure_engine(watcher, engine, repeats) for engine in ENGINES]


def measure_engine(watcher: Watcher, engine: str, repeats: int) -> Result:
    seconds = []
    for _ in range(repeats):
        run = wb.train("digits-mlp", engine=engine, steps=5000, evaluate=False)
        with watcher.watching(run):
            received = watcher.first_point_time(timeout_s=120)
            events = EventReader(run.folder.events_path).poll()
            run.stop()
            run.wait(60)
        stepped = next(event["time"] for event in events if event["event"] == "steps")
        seconds.append(received - stepped)
    return Result(
        what=f"first point at the page after the first step, `{engine}`, digits-mlp",
        value=float(np.median(seconds)),
        low=min(seconds),
        high=max(seconds),
        spread=f"range of {repeats} runs",
        unit="s",
        aim=1.0,
    )
