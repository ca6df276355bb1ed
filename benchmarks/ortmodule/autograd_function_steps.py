"""Times steps with custom functions.

Run as `python -m benchmarks.ortmodule.autograd_function_steps ROUNDS`.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from benchmarks.ortmodule.layer_steps import BURST_S, seconds
from workbench import ORTModule
from workbench.machine.threads import default_threads


class Identity(Function):
    """Costs nothing itself, in either direction."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        return gradient


class Applied(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = Identity.apply(x)
        return y


def network(width: int, functions: bool) -> nn.Sequential:
    """Three layers, with a function after either hidden one."""
    torch.manual_seed(0)
    between = Applied if functions else nn.Identity
    return nn.Sequential(
        nn.Linear(784, width),
        nn.ReLU(),
        between(),
        nn.Linear(width, width),
        nn.ReLU(),
        between(),
        nn.Linear(width, 10),
    )


NETWORKS = {"MLP 784-128-128-10, batch 64": 128, "MLP 784-512-512-10, batch 64": 512}


def main() -> None:
    torch.set_num_threads(default_threads())
    print(json.dumps({name: measured(width, int(sys.argv[1])) for name, width in NETWORKS.items()}))


def measured(width: int, rounds: int) -> dict[str, Any]:
    """Seconds a step in each round, by what took it, and how many functions there were."""
    x = torch.randn(64, 784)
    with_functions, without = network(width, True), network(width, False)
    modules = {
        "whole": ORTModule(copy.deepcopy(without)),
        "pieces": ORTModule(copy.deepcopy(with_functions)),
        "eager whole": without,
        "eager": with_functions,
    }
    steps = {}
    for name, module in modules.items():
        seconds(module, x, 3)
        steps[name] = max(1, round(BURST_S / seconds(module, x, 3)))
    found: dict[str, list[float]] = {name: [] for name in modules}
    for number in range(rounds):
        first = number % len(modules)
        names = list(modules)
        for name in names[first:] + names[:first]:
            found[name].append(seconds(modules[name], x, steps[name]))
    return {"seconds": found, "functions": len(modules["pieces"].functions)}


if __name__ == "__main__":
    main()
