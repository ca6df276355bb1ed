"""How long `import workbench` takes in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.result import Result

PROGRAM = "import time; t = time.perf_counter(); import workbench; print(time.perf_counter() - t)"


def measure(quick: bool) -> list[Result]:
    repeats = 5 if quick else 20
    seconds = np.array(
        [
            float(
                subprocess.run(
                    [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(repeats)
        ]
    )
    return [
        Result(
            what="`import workbench`",
            value=float(np.median(seconds)),
            low=float(seconds.min()),
            high=float(seconds.max()),
            spread=f"range of {repeats} interpreters",
            unit="s",
            aim=0.2,
        )
    ]
