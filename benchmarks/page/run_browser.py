"""How long the list of 1,000 recorded runs takes: at first, and to find out that nothing is new."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from benchmarks.result import Result
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder

RUNS = 1000
LONG_EVERY = 50
"""One of so many runs is long."""
LONG_STEPS = 200_000
POLLS = 20

PROGRAM = """
import json, time
from workbench.runs.listing import RunIndex
start = time.perf_counter()
index = RunIndex()
first = len(index.poll().rows)
listed = time.perf_counter()
index.complete(index.incomplete)
completed = time.perf_counter()
time.sleep(0.3)
index.poll()
polls = []
for _ in range({polls}):
    begun = time.perf_counter()
    index.poll()
    polls.append(time.perf_counter() - begun)
print(json.dumps([first, listed - start, completed - start, polls]))
"""


def measure(quick: bool) -> list[Result]:
    """Train once, copy that run's folder, and list the copies in fresh interpreters."""
    repeats = 3 if quick else 10
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        make_runs(Path(folder), home / "runs")
        environment = {**os.environ, "WORKBENCH_HOME": str(home)}
        command = [sys.executable, "-c", PROGRAM.format(polls=POLLS)]
        outputs: list[Any] = [
            json.loads(subprocess.check_output(command, env=environment)) for _ in range(repeats)
        ]
    assert all(count == RUNS for count, *_ in outputs)
    firsts, completes = (np.array([each[place] for each in outputs]) for place in (1, 2))
    polls_ms = 1e3 * np.array([seconds for *_, polls in outputs for seconds in polls])
    return [
        Result(
            what=f"list of {RUNS:,} runs, in a fresh process",
            value=float(np.median(firsts)),
            low=float(firsts.min()),
            high=float(firsts.max()),
            spread=f"range of {repeats} processes",
            unit="s",
            aim=1.0,
            note=f"one of {LONG_EVERY} runs has {LONG_STEPS:,} steps; files are in the page cache.",
        ),
        Result(
            what="the same, until every loss curve is read",
            value=float(np.median(completes)),
            low=float(completes.min()),
            high=float(completes.max()),
            spread=f"range of {repeats} processes",
            unit="s",
            aim=math.inf,
        ),
        Result(
            what=f"the same again, with nothing new in {RUNS:,} runs",
            value=float(np.median(polls_ms)),
            low=float(polls_ms.min()),
            high=float(polls_ms.max()),
            spread=f"range of {len(polls_ms)} polls",
            unit="ms",
            aim=math.inf,
        ),
    ]


def make_runs(scratch: Path, runs: Path) -> None:
    """Write `RUNS` run folders: copies of one that was trained, some with a long event log."""
    runs.mkdir(parents=True)
    run = wb.train("digits-mlp", engine="ondevice").wait()
    long_log = scratch / "long.jsonl"
    write_long(long_log)
    for number in range(RUNS):
        target = runs / f"20260101-{number:06d}-digits-mlp-ondevice"
        target.mkdir()
        for path in run.folder.path.iterdir():
            if path.is_file():
                shutil.copy(path, target)
        if number % LONG_EVERY == 0:
            shutil.copy(long_log, RunFolder(target).events_path)
    old = time.time() - 60
    for path in runs.iterdir():
        os.utime(path, (old, old))


def write_long(path: Path) -> None:
    """Write the events of a run of `LONG_STEPS` steps."""
    events = EventWriter(path)
    events.write("built", rss_before_bytes=1)
    losses = 2.3 * np.exp(-np.arange(LONG_STEPS) / 5e4) + 0.1
    for first in range(0, LONG_STEPS, 500):
        part = losses[first : first + 500].tolist()
        events.write(
            "steps",
            first_step=first + 1,
            losses=part,
            nanoseconds=[400_000] * len(part),
            batch_size=32,
            steps_per_epoch=45,
            rss_bytes=10**8,
        )
    events.close()
