"""How long a run takes from `wb.train()` to its first step, the first time and from then on.

The first start of `ondevice` exports into an empty cache; the others find the export there. Each is
in a fresh interpreter, which has imported the workbench and loaded the model and its data.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.result import Result
from sample_models import SAMPLES

ENGINES = ("ondevice", "ortmodule", "pytorch")
AIM_S = 2.0
QUICK = ("digits-mlp", "text-gpt")

PROGRAM = """
import sys, time
import workbench as wb
from workbench.run_folder.events import EventReader
model, data = wb.load_model(sys.argv[1]), wb.load_dataset(sys.argv[1])
started = time.time()
run = wb.train(model, data, engine=sys.argv[2], steps=1, evaluate=False)
run.wait()
assert run.status == "completed", run.error
events = EventReader(run.folder.events_path).poll()
print(next(event["time"] for event in events if event["event"] == "steps") - started)
"""


def measure(quick: bool) -> list[Result]:
    repeats = 2 if quick else 5
    results = []
    for sample in QUICK if quick else SAMPLES:
        for engine in ENGINES:
            results += measure_engine(sample, engine, repeats)
    return results


def measure_engine(sample: str, engine: str, repeats: int) -> list[Result]:
    """The first start, and the later ones, for which alone there is an aim."""
    with tempfile.TemporaryDirectory() as cache:
        first_s = start_s(sample, engine, cache)
        others_s = [start_s(sample, engine, cache) for _ in range(repeats)]
    what = f"start of `{engine}`, {sample}"
    return [
        result(f"{what}, the first", [first_s], math.inf),
        result(f"{what}, from the second on", others_s, AIM_S),
    ]


def result(what: str, seconds: list[float], aim_s: float) -> Result:
    return Result(
        what=what,
        value=float(np.median(seconds)),
        low=min(seconds),
        high=max(seconds),
        spread="one run" if len(seconds) == 1 else f"range of {len(seconds)} runs",
        unit="s",
        aim=aim_s,
    )


def start_s(sample: str, engine: str, cache: str) -> float:
    """Seconds from `wb.train()` to the event of the first step."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, sample, engine],
        env={**os.environ, "WORKBENCH_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])
