"""The onnxruntime of today, in an environment of its own beside that of the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

PYTHON_VARIABLE = "WORKBENCH_INFERENCE_PYTHON"
"""Another Python with onnxruntime and numpy, instead of that which `make test` sets up."""

Values = Mapping[str, np.ndarray]


class PlainOnnxRuntime:
    """Runs models by the Python of that environment."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self.version = ""
        """Of onnxruntime, once a model was run."""

    def run(self, model: Path, inputs: Values, work: Path) -> dict[str, np.ndarray]:
        """The outputs of `model` by name.

        Args:
            model: an ONNX file.
            inputs: arrays by input name.
            work: an existing folder.
        """
        np.savez(work / "inputs.npz", **inputs)
        names = {"inputs": "inputs.npz", "outputs": "outputs.npz"}
        job = {"model": str(model), **{key: str(work / name) for key, name in names.items()}}
        (work / "jobs.json").write_text(json.dumps([job]))
        done = subprocess.run(
            [self.python, "-P", Path(__file__).with_name("run_models.py"), work / "jobs.json"],
            check=True,
            capture_output=True,
            text=True,
            # Nothing of this environment's packages or settings.
            env={"PATH": os.environ["PATH"]},
        )
        self.version = done.stdout.split()[-1]
        with np.load(work / "outputs.npz") as outputs:
            return dict(outputs)


def plain_onnxruntime() -> PlainOnnxRuntime:
    """That environment; the test is skipped where it is missing, and fails in CI."""
    named = os.environ.get(PYTHON_VARIABLE)
    python = Path(named) if named else Path(sys.prefix, "inference", "bin", "python")
    if not python.exists():
        message = f"{python} is missing; `make test` sets it up, or name one by {PYTHON_VARIABLE}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return PlainOnnxRuntime(python)
