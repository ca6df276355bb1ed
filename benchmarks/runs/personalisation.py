"""How long a personalisation takes from the last example to its result, and how accurate it is.

For drawings and spoken words: five examples of each of three new classes, by each of three hands or
voices that the base checkpoint never met. For text: a poem. The first time is in a fresh
interpreter with an empty cache of exports: as a program has it, and as a pad has it, which prepares
the training artifacts while the examples are made. Again is in the same interpreter with other
examples.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.result import Result
from workbench.load.base_sample import base_samples

AIM_S = 10.0
TASKS = {"image": "drawings", "audio": "spoken words", "text": "text"}

PROGRAM = """
import json, sys, time
import workbench as wb
from workbench.personalisation import prepare
from tests.personalisation.recorded import POEM, drawn_examples, spoken_examples
kind, prepared, found = sys.argv[1], sys.argv[2] == "prepared", []

if prepared:
    prepare(kind)
for who in (0,) if prepared else (0, 1, 2):
    if kind == "text":
        examples = wb.Examples("text")
        examples.add(POEM[who * 50:])
    else:
        examples, _ = (drawn_examples if kind == "image" else spoken_examples)(who)
    started = time.perf_counter()
    made = wb.personalise(examples).wait()
    seconds = time.perf_counter() - started
    name = "perplexity" if kind == "text" else "accuracy"
    found.append([seconds, getattr(made.before, name), getattr(made.after, name)])
    made.close()
print(json.dumps(found))
"""


def measure(quick: bool) -> list[Result]:
    kinds = [kind for kind in TASKS if kind in {base.kind for base in base_samples().values()}]
    return [result for kind in kinds for result in measure_kind(kind, repeats=1 if quick else 3)]


def measure_kind(kind: str, repeats: int) -> list[Result]:
    rounds = [(personalised(kind, "prepared"), personalised(kind, "")) for _ in range(repeats)]
    prepared, plain = (np.array(each) for each in zip(*rounds, strict=True))
    what = f"personalisation, {TASKS[kind]}"
    metric, unit = ("perplexity", "") if kind == "text" else ("accuracy", "%")
    scale = 1 if kind == "text" else 100
    parts = {"the first": plain[:, :1], "prepared by a pad": prepared, "again": plain[:, 1:]}
    return [
        *(result(f"{what}, {name}", part[..., 0], "s", AIM_S) for name, part in parts.items()),
        result(f"{what}: held-out {metric} before", scale * plain[0, :, 1], unit, math.inf),
        result(f"{what}: held-out {metric} after", scale * plain[0, :, 2], unit, math.inf),
    ]


def result(what: str, values: np.ndarray, unit: str, aim: float) -> Result:
    return Result(
        what=what,
        value=float(np.median(values)),
        low=float(values.min()),
        high=float(values.max()),
        spread=f"range of {values.size}",
        unit=unit,
        aim=aim,
    )


def personalised(kind: str, mode: str) -> list[list[float]]:
    """Of each hand or voice: seconds, metric before, metric after."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, kind, mode],
            env={**os.environ, "WORKBENCH_CACHE": cache},
            capture_output=True,
            text=True,
            check=True,
        )
    found: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found
