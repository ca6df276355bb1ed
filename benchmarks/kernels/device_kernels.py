"""The workbench's kernels over what ONNX Runtime runs without them: nodes, whole steps, and memory.

Without them a node runs ONNX Runtime's kernel, or the standard operators that are written in its
place, as artifacts have them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.kernels.aten_kernels import node_ratios
from benchmarks.result import Result

MEASURED_IN_MEMORY = ("text-bert", "text-gpt", "hf-classifier", "digits-cnn", "sketch-cnn")
MODELS = (*MEASURED_IN_MEMORY, "speech-commands", "llama-32000", "t5-32128")
"""Making the spectrograms of the third last takes more memory than training, which hides its peak;
so does loading torch for the last two."""

ROUNDS, QUICK_ROUNDS = 41, 11


def measure(quick: bool) -> list[Result]:
    nodes = node_ratios(
        "benchmarks.kernels.device_kernel_nodes", "ours", "our kernel over ONNX Runtime's", quick
    )
    steps = [_steps(sample, QUICK_ROUNDS if quick else ROUNDS) for sample in MODELS]
    return nodes + steps + [_memory(sample) for sample in MEASURED_IN_MEMORY]


def _answer(*arguments: str) -> Any:
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _memory(sample: str) -> Result:
    """Of a process each: what training adds to its peak."""
    program = "benchmarks.kernels.device_kernel_memory"
    found = {
        kernels: np.array([_answer(program, sample, kernels) / 2**20 for _ in range(3)])
        for kernels in ("with", "without")
    }
    ratios = np.sort(found["with"] / found["without"])
    with_them, without = (float(np.median(found[name])) for name in ("with", "without"))
    return Result(
        what=f"memory of `{sample}` on `ondevice`, with our kernels over without",
        value=with_them / without,
        low=float(ratios[0]),
        high=float(ratios[-1]),
        spread="of 3 processes each",
        unit="",
        aim=1.0,
        note=f"{without:.0f} MiB without, {with_them:.0f} MiB with, above the process before it "
        "loads ONNX Runtime",
    )


def _steps(sample: str, rounds: int) -> Result:
    found = _answer("benchmarks.kernels.device_kernel_steps", sample, str(rounds))
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
