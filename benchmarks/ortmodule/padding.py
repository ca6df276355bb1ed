"""Gain of leaving padding and ignored labels out of BERT's steps, in lockstep with eager."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.ortmodule.padding_steps import BATCH, LENGTH, MODULES, WORDS
from benchmarks.result import Result
from workbench.compare.rounds.statistics import ratio
from workbench.machine.threads import default_threads

ROUNDS, QUICK_ROUNDS = 24, 8
AIM = 1.5


def measure(quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    command = [sys.executable, "-m", "benchmarks.ortmodule.padding_steps", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = []
    for found in json.loads(done.stdout.splitlines()[-1]).values():
        seconds = {name: np.array(each) for name, each in found["seconds"].items()}
        note = (
            f"BERT of 4 x 256, {WORDS} words, batch {BATCH} x {LENGTH}; eager "
            f"{1e3 * float(np.median(seconds['eager'])):.0f} ms a step; {default_threads()} "
            f"threads; largest loss difference {found['difference']:.0e}"
        )
        for name in MODULES:
            of = ratio(seconds["eager"], seconds[name])
            results.append(
                Result(
                    what=f"throughput over eager, {found['padding']:.0%} padding, left out: {name}",
                    value=of.median,
                    low=of.low,
                    high=of.high,
                    spread=f"95 % interval over {rounds} rounds",
                    unit="",
                    aim=AIM if name == "both" else float("inf"),
                    at_least=True,
                    note=note if name == "both" else "",
                )
            )
    return results
