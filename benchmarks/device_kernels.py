"""Our own kernels over what ONNX Runtime runs without them: node by node, and whole steps.

Without them a node runs ONNX Runtime's kernel, or the standard operators that are written in its
place, as artifacts have them.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.aten_kernels import node_ratios
from benchmarks.result import Result

SAMPLES = ("text-bert", "text-gpt", "hf-classifier", "digits-cnn")
ROUNDS, QUICK_ROUNDS = 41, 11


def measure(quick: bool) -> list[Result]:
    nodes = node_ratios(
        "benchmarks.device_kernel_nodes", "ours", "our kernel over ONNX Runtime's", quick
    )
    return nodes + [_steps(sample, QUICK_ROUNDS if quick else ROUNDS) for sample in SAMPLES]


def _steps(sample: str, rounds: int) -> Result:
    command = [sys.executable, "-m", "benchmarks.device_kernel_steps", sample, str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    with_them, without = (1e3 * np.array(found[name]) for name in ("with", "without"))
    low, middle, high = np.quantile(with_them / without, (0.25, 0.5, 0.75))
    return Result(
        what=f"step of `{sample}` on `ondevice`, with our kernels over without",
        value=float(middle),
        low=float(low),
        high=float(high),
        spread=f"quartiles of {rounds} steps in turn",
        unit="",
        aim=1.0,
        note=f"{np.median(without):.2f} ms without, {np.median(with_them):.2f} ms with "
        f"({found['kernels']}), {found['threads']} threads; fastest {without.min():.2f} and "
        f"{with_them.min():.2f} ms; losses differ by {found['difference']:.0e} at most",
    )
