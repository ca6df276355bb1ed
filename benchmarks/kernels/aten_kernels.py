"""PyTorch's kernels over ONNX Runtime's for each operator that ORTModule lets them run, in turn.

One node (two, where they belong together) in a session of its own, on as many threads each. The
medians are the numbers in `workbench/ort/ortmodule/aten/operators/choices.py`.
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
    return node_ratios(
        "benchmarks.kernels.aten_kernel_nodes",
        "pytorch",
        "PyTorch's kernel over ONNX Runtime's",
        quick,
    )


def node_ratios(program: str, ours: str, what: str, quick: bool) -> list[Result]:
    """Measurements of `program` for each node: the seconds of `ours` over those of "native"."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    command = [sys.executable, "-m", program, str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results = []
    for operator, detail, found, *more in json.loads(done.stdout.splitlines()[-1]):
        native = np.array(found["native"])
        measured = ratio(np.array(found[ours]), native)
        difference = found["difference"]
        same = "" if difference is None else f", results differ by {difference:.0e} at most"
        results.append(
            Result(
                what=f"{operator}, {what}: {detail}",
                value=measured.median,
                low=measured.low,
                high=measured.high,
                spread=f"95 % interval over {rounds} rounds",
                unit="",
                aim=1.0,
                note=f"ONNX Runtime {1e3 * float(np.median(native)):.3f} ms, "
                f"{default_threads()} threads each{same}{''.join(more)}",
            )
        )
    return results
