"""Bytes of a checkpoint, and seconds to write it and to continue from it, by parameter count."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from benchmarks.result import Result

SIZES = {10_000: 69, 100_000: 281, 1_000_000: 963, 10_000_000: 3125, 32_000_000: 5586}
"""Width of the perceptron by its number of parameters, about."""


def measure(quick: bool) -> list[Result]:
    """Each size in a process of its own, on `ondevice` with AdamW; `quick`: the two smallest."""
    results = []
    for width in list(SIZES.values())[: 2 if quick else None]:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.runs.checkpoint_times", str(width)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        what = f"checkpoint of {found['parameters']:,} parameters"
        size = found["bytes"] / 1e6
        results.append(
            Result(
                f"{what}: size", size, size, size, "exact", "MB", float("inf"),
                f"{found['bytes'] / found['parameters']:.2f} bytes a parameter.",
            )
        )  # fmt: skip
        for action, seconds in found["seconds"].items():
            times = [1e3 * each for each in seconds]
            spread = f"range of {len(times)}"
            results.append(
                Result(
                    f"{what}: {action}",
                    median(times), min(times), max(times), spread, "ms", float("inf"),
                )
            )  # fmt: skip
    return results
