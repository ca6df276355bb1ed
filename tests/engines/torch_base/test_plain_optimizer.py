"""The optimizers of the engines: torch's results without torch.compile's modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

from workbench.engines.torch_base.plain_optimizer import plain

TRAINING = """
import sys
import torch
from workbench.engines.torch_base.plain_optimizer import plain
from workbench.ort.ortmodule import ORTModule

module = ORTModule(torch.nn.Linear(3, 2))
optimizer = plain(torch.optim.AdamW)(module.parameters(), lr=0.1, fused=True)
for parameter in module.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer.step()
optimizer.zero_grad()
print([name for name in ("torch._dynamo", "torch._inductor", "torch.onnx") if name in sys.modules])
"""


def test_a_process_that_compiles_nothing_has_no_compiler() -> None:
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def trained(make: Callable[..., Any]) -> tuple[str, list[Tensor]]:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    optimizer = make(module.parameters(), lr=0.1, weight_decay=0.01, fused=True)
    for _ in range(3):
        module(torch.randn(4, 5)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        assert all(each.grad is None for each in module.parameters())
    assert all(each.is_leaf and each.requires_grad for each in module.parameters())
    return type(optimizer).__name__, [each.detach() for each in module.parameters()]


@pytest.mark.parametrize("kind", [optim.AdamW, optim.SGD])
def test_steps_are_torchs(kind: type[optim.Optimizer]) -> None:
    name, weights = trained(plain(kind))
    assert (name, len(weights)) == (kind.__name__, 4)
    for one, other in zip(weights, trained(kind)[1], strict=True):
        assert torch.equal(one, other)
