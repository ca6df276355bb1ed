"""Gradients in standard operators over ONNX Runtime's own kernels for them, in turn.

One gradient in a session of its own, on as many threads each; who begins alternates.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.result import Result
from workbench.compare.statistics import ratio
from workbench.settings.config import default_threads

ROUNDS, QUICK_ROUNDS = 15, 6


def measure(quick: bool) -> list[Result]:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    command = [sys.executable, "-m", "benchmarks.gradient_nodes", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = []
    for operator, detail, found in json.loads(done.stdout.splitlines()[-1]):
        native, standard = np.array(found["native"]), np.array(found["standard"])
        measured = ratio(standard, native)
        results.append(
            Result(
                what=f"{operator}, standard operators over its kernel: {detail}",
                value=measured.median,
                low=measured.low,
                high=measured.high,
                spread=f"95 % interval over {rounds} rounds",
                unit="",
                aim=1.0,
                note=f"the kernel {1e3 * float(np.median(native)):.3f} ms, {default_threads()} "
                f"threads each, results differ by {found['difference']:.0e} at most",
            )
        )
    return results
