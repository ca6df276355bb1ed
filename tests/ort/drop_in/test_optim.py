"""The package's optimizers: refused without CUDA, and reached without its front end."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from tests.fork_server import forked

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

UNCHANGED = """
import warnings, torch
from deepspeed.runtime.zero.stage_1_and_2 import DeepSpeedZeroOptimizer
from workbench.ort.drop_in.optim import accelerated
plain = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
# The package looks at its methods alone.
of_deepspeed = DeepSpeedZeroOptimizer.__new__(DeepSpeedZeroOptimizer)
cases = ((plain, "SGD of torch 2."), (of_deepspeed, "DeepSpeedZeroOptimizer of deepspeed 0."))
for optimizer, name in cases:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert accelerated(optimizer) is optimizer
    [said] = [str(each.message) for each in caught]
    assert name in said, said
    assert "DeepSpeed 0.4.0 to 0.9.2 alone" in said, said
    assert len(said) < 400, said
"""

EQUAL = """
import torch, warnings
from workbench.ort.drop_in.optim import AdamWMode, FusedAdam
warnings.simplefilter("error")
modules = [torch.nn.Linear(64, 10).cuda() for _ in range(2)]
modules[1].load_state_dict(modules[0].state_dict())
settings = {"lr": 1e-2, "eps": 1e-6, "weight_decay": 0.1}
optimizers = [
    FusedAdam(modules[0].parameters(), adam_w_mode=AdamWMode.ADAMW_TORCH, **settings),
    torch.optim.AdamW(modules[1].parameters(), **settings),
]
for _ in range(20):
    inputs = torch.randn(32, 64, device="cuda")
    for module, optimizer in zip(modules, optimizers):
        optimizer.zero_grad()
        module(inputs).square().mean().backward()
        optimizer.step()
for weight, expected in zip(modules[0].parameters(), modules[1].parameters()):
    torch.testing.assert_close(weight, expected, rtol=1e-4, atol=1e-4)
"""


def run(python: list[Any], script: str) -> None:
    """Run it in a process of its own, without CUDA."""
    done = subprocess.run(
        [*python, script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_packages_classes_are_reached_without_its_front_end() -> None:
    run(forked("-c", warnings="error"), REACHED)


def test_without_cuda_they_are_refused_with_an_alternative() -> None:
    run(forked("-c", warnings="error"), REFUSED)


def test_an_optimizer_that_the_package_does_not_know_is_one_warning() -> None:
    """For a DeepSpeed of today the package prints pages of its source code."""
    run(forked("-c"), UNCHANGED)


def test_importing_them_loads_neither_torch_nor_onnxruntime() -> None:
    run(
        [sys.executable, "-W", "error", "-c"],
        "import sys; import workbench.ort.drop_in.optim; "
        "assert not {'torch', 'onnxruntime'} & set(sys.modules)",
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="FusedAdam needs CUDA")
def test_fused_adam_builds_its_kernels_and_equals_adamw() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EQUAL], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
