"""Forward and backward of each rewritten layer in ORTModule over eager PyTorch, in turn.

Both run in one process on as many threads each; who begins alternates. A layer stands between a
parameter and the loss, as in a model, so that the gradient passes through it.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.result import Result
from workbench.compare.rounds.statistics import ratio
from workbench.machine.threads import default_threads

ROUNDS, QUICK_ROUNDS = 15, 6


def measure(quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    command = [sys.executable, "-m", "benchmarks.ortmodule.layer_steps", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = []
    for name, seconds in json.loads(done.stdout.splitlines()[-1]).items():
        eager, ort = np.array(seconds["eager"]), np.array(seconds["ortmodule"])
        found = ratio(ort, eager)
        results.append(
            Result(
                what=f"{name}, `ORTModule` over eager",
                value=found.median,
                low=found.low,
                high=found.high,
                spread=f"95 % interval over {rounds} rounds",
                unit="",
                aim=1.0,
                note=f"eager step {1e3 * float(np.median(eager)):.2f} ms, "
                f"{default_threads()} threads each",
            )
        )
    return results
