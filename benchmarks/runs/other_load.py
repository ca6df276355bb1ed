"""The ratio of a comparison while another program takes part of a core: from which load on is it no
longer that of a quiet machine?

The other program computes for a part of each second, as a page does that draws its charts. The
loads are measured in turn, and all of them again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import workbench as wb
from benchmarks.result import Result

MODEL = "digits-mlp"
STEPS = 1000
PARTS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Parts of each second in which the other program computes."""
REPEATS, QUICK_REPEATS = 5, 1
PROGRAM = """
import sys, time
part = float(sys.argv[1])
while True:
    began = time.perf_counter()
    while time.perf_counter() - began < part:
        pass
    time.sleep(1 - part)
"""


def measure(quick: bool) -> list[Result]:
    found: dict[float, list[tuple[float, float]]] = {part: [] for part in PARTS}
    repeats = QUICK_REPEATS if quick else REPEATS
    for _ in range(repeats):
        for part in PARTS:
            with other_program(part):
                comparison = wb.compare(MODEL, engines=["pytorch", "ondevice"], steps=STEPS).wait()
            load = comparison.load
            other_cores = load.other_cores if load else float("nan")
            found[part].append((comparison.ratio("ondevice").median, other_cores))
    return [_result(part, np.array(pairs)) for part, pairs in found.items()]


@contextmanager
def other_program(part: float) -> Iterator[None]:
    """A program computes for `part` of each second meanwhile; 0: there is none."""
    if part == 0:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(part)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _result(part: float, pairs: np.ndarray) -> Result:
    ratios, cores = pairs.T
    return Result(
        what=f"`ondevice` over `pytorch`, {MODEL}, another program computes {part:.0%} of the time",
        value=float(np.median(ratios)),
        low=float(ratios.min()),
        high=float(ratios.max()),
        spread=f"least and greatest of {len(ratios)} comparisons",
        unit="",
        aim=float("inf"),
        note=f"measured: {cores.min():.2f} to {cores.max():.2f} cores in use by other programs",
    )
