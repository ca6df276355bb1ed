"""Cost of custom autograd functions in ORTModule, whose graph runs in pieces around them.

The same network with identity functions between its layers and without, in ORTModule and eager, in
one process, in turn; who begins rotates.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.result import Result
from workbench.compare.rounds.statistics import ratio
from workbench.machine.threads import default_threads

ROUNDS, QUICK_ROUNDS = 41, 6


def measure(quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    command = [sys.executable, "-m", "benchmarks.ortmodule.autograd_function_steps", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = []
    for network, found in json.loads(done.stdout.splitlines()[-1]).items():
        seconds = {name: np.array(each) for name, each in found["seconds"].items()}
        calls = found["functions"]
        each_us = 1e6 * (seconds["pieces"] - seconds["whole"]) / calls
        milliseconds = {name: 1e3 * float(np.median(each)) for name, each in seconds.items()}
        note = (
            f"whole {milliseconds['whole']:.3f} ms, in pieces {milliseconds['pieces']:.3f} ms, "
            f"eager {milliseconds['eager whole']:.3f} and {milliseconds['eager']:.3f} ms; "
            f"{float(np.median(each_us)):.0f} µs a function and step"
        )
        for one, other, what, aim in (
            ("pieces", "whole", "`ORTModule` over the same without", 1.25),
            ("pieces", "eager", "`ORTModule` over eager", 1.1),
        ):
            of = ratio(seconds[one], seconds[other])
            results.append(
                Result(
                    what=f"{network} with {calls} identity functions, {what}",
                    value=of.median,
                    low=of.low,
                    high=of.high,
                    spread=f"95 % interval over {rounds} rounds",
                    unit="",
                    aim=aim,
                    note=f"{note}; {default_threads()} threads",
                )
            )
    return results
