"""The package's optimizers: refused without CUDA, and reached without its front end."""

from __future__ import annotations

import os
import subprocess
import sys

REACHED = """
import sys, torch, torch.utils.checkpoint
from workbench.ort.drop_in import optim
adam = optim.package_module("fused_adam").FusedAdam
assert issubclass(adam, torch.optim.Optimizer)
assert optim.AdamWMode.ADAMW_TORCH == 2
assert callable(optim.package_module("fp16_optimizer").FP16_Optimizer)
packages = {"onnxruntime.training", "onnxruntime.training.optim", "onnxruntime.training.ortmodule"}
assert not packages & set(sys.modules), sorted(packages & set(sys.modules))
assert torch.utils.checkpoint.checkpoint.__module__ == "torch.utils.checkpoint"
try:
    optim.package_module("no_such")
except Exception as error:
    assert "cannot be imported" in str(error), error
else:
    raise AssertionError("a module that is not there was imported")
"""

REFUSED = """
import torch
from workbench.errors import EngineError
from workbench.ort.drop_in.optim import FP16_Optimizer, FusedAdam
parameters = [torch.nn.Parameter(torch.zeros(1))]
for make, given in ((FusedAdam, parameters), (FP16_Optimizer, torch.optim.Adam(parameters))):
    try:
        make(given)
    except EngineError as error:
        assert make.__name__ in str(error), error
        assert "needs CUDA" in str(error), error
        assert "torch.optim.AdamW(parameters, fused=True)" in str(error), error
    else:
        raise AssertionError(f"{make.__name__} was made")
"""


def run(script: str) -> None:
    """Run it in a process of its own, without CUDA, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_packages_classes_are_reached_without_its_front_end() -> None:
    run(REACHED)


def test_without_cuda_they_are_refused_with_an_alternative() -> None:
    run(REFUSED)


def test_importing_them_loads_neither_torch_nor_onnxruntime() -> None:
    run(
        "import sys; import workbench.ort.drop_in.optim; "
        "assert not {'torch', 'onnxruntime'} & set(sys.modules)"
    )
