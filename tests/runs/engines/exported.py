"""How far an exported model, in today's onnxruntime, is from what its engine computes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import onnx

from tests.fork_server import forked
from tests.plain_onnxruntime.environment import PlainOnnxRuntime
from workbench.load import load_model
from workbench.runs import Run

TOLERANCE = 1e-5
"""Largest difference of an output, relative to the largest output but at least 1."""


def difference(run: Run, exported: Path, plain: PlainOnnxRuntime, work: Path) -> float:
    """The largest difference of the first test batch's outputs, relative as `TOLERANCE` is."""
    answer = work / "evaluated.npz"
    subprocess.run(
        forked("-m", "tests.runs.engines.evaluated", run.folder.path, answer),
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    with np.load(answer) as found:
        evaluated = dict(found)
    graph = onnx.load(exported, load_external_data=False).graph
    held = {value.name for value in graph.initializer}
    names = [value.name for value in graph.input if value.name not in held]
    inputs = {name: evaluated[f"input_{index}"] for index, name in enumerate(names)}
    output = next(iter(plain.run(exported, inputs, work).values()))
    expected = evaluated["output"]
    assert output.shape == expected.shape
    return float(np.abs(output - expected).max()) / max(1.0, float(np.abs(expected).max()))


def assert_statistics_moved(run: Run) -> None:
    """The running statistics are not those of the untrained model."""
    initial, trained = load_model(run.spec["model"]).weights(), run.weights()
    statistics = [name for name in initial if "running_" in name]
    assert statistics
    assert min(np.abs(trained[name] - initial[name]).max() for name in statistics) > 1e-3
