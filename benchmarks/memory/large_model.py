"""Checking, rewriting and generating artifacts for GPT-2 of 124 million parameters."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.result import Result

STAGES = {
    "check": "`wb.check`",
    "make_trainable": "`make_trainable`",
    "generate_artifacts": "`wb.generate_artifacts`",
}
AIM_S, AIM_SIZES = 60.0, 4.0


def measure(quick: bool) -> list[Result]:
    """Each stage in a process of its own; `quick` takes two of the model's twelve layers."""
    results = []
    for stage, name in STAGES.items():
        command = [sys.executable, "-m", "benchmarks.memory.large_model_stage", stage]
        done = subprocess.run(
            [*command, "2" if quick else "12"], stdout=subprocess.PIPE, text=True, check=True
        )
        measured = json.loads(done.stdout.splitlines()[-1])
        seconds, sizes = measured["seconds"], measured["peak_bytes"] / measured["model_bytes"]
        what = f"{name}, GPT-2 of {measured['parameters'] / 1e6:.0f} million parameters"
        note = f"peak {measured['peak_bytes'] / 1e6:.0f} MB in its largest process"
        results += [
            Result(what, seconds, seconds, seconds, "one run", "s", AIM_S),
            Result(
                f"{what}: peak memory over the size of the weights",
                sizes, sizes, sizes, "one run", "", AIM_SIZES, note,
            ),
        ]  # fmt: skip
    return results
