"""Buffers that a forward pass writes: kept from step to step, or rejected by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fork_server import forked

PROGRAM = """
import json, sys
import torch
from torch import nn
from workbench.errors import UntrainableError
from workbench.ort.ortmodule import ORTModule

class Counted(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)
        self.register_buffer("steps", torch.tensor(0, dtype=dtype))

    def forward(self, x):
        self.steps += 1
        return self.norm(self.linear(x)) * self.steps

module = ORTModule(Counted(getattr(torch, sys.argv[1])))
try:
    for _ in range(3):
        results = module(torch.randn(4, 8))
        results.sum().backward()
    found = {"steps": module.steps.item(), "batches": module.norm.num_batches_tracked.item()}
    found["seen"] = round(results.std(0, correction=0).mean().item())
except UntrainableError as error:
    found = {"refused": str(error)}
print(json.dumps(found))
"""


def outcome(dtype: str) -> dict[str, Any]:
    done = subprocess.run(forked("-c", PROGRAM, dtype), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("dtype", ["float32", pytest.param("int64", marks=pytest.mark.sweep)])
def test_a_buffer_is_kept_from_step_to_step(dtype: str) -> None:
    assert outcome(dtype) == {"steps": 3, "batches": 3, "seen": 3}


def test_a_buffer_of_another_dtype_is_refused_by_name() -> None:
    """Also one that nothing else reads: it would stay as it was silently."""
    message = outcome("float64")["refused"]
    assert "writes its buffer 'steps' of float64; only float32 and int64 are kept" in message


SHRINKS = """
import sys
import numpy as np
import torch
from torch import nn
from workbench.errors import UntrainableError
from workbench.load import load_model
from workbench.artifacts import generate_artifacts
from workbench.ort.ortmodule import ORTModule

class Shrinks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        with torch.no_grad():
            self.linear.weight.mul_(0.9)
        return self.linear(x)

def in_artifacts():
    model = load_model(Shrinks(), example_inputs=np.zeros((2, 4), np.float32))
    generate_artifacts(model, directory=sys.argv[1], loss="mse")

for trained in (lambda: ORTModule(Shrinks())(torch.zeros(2, 4)), in_artifacts):
    try:
        trained()
    except UntrainableError as error:
        print(error)
"""


def test_a_parameter_that_is_changed_is_refused_by_name_on_both_engines(tmp_path: Path) -> None:
    done = subprocess.run(
        forked("-c", SHRINKS, str(tmp_path / "artifacts")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ours, ondevice = done.stdout.splitlines()
    assert ours == ondevice
    assert ours.startswith("The forward pass changes its parameter 'linear.weight' in place")
