"""Trains each case of the table on two ranks, plainly and under ORTModule; writes what came of it.

    python -m tests.ort.ortmodule.parallel_probe RESULT_JSON [NAME ...]

starts itself once more under torchrun's elastic agent.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.run import main as torchrun
from torch.distributed.tensor import DTensor

from tests.ort.ortmodule.parallel_cases import CASES, Rows
from workbench import ORTModule

RANKS = 2
ROWS = 16
"""Of each rank."""


def rows_of(rank: int) -> Rows:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(RANKS * ROWS, 12, generator=generator)
    y = torch.randint(0, 10, (RANKS * ROWS,), generator=generator)
    return x[rank * ROWS :][:ROWS], y[rank * ROWS :][:ROWS]


def train(name: str, *, wrapped: bool) -> dict[str, Any]:
    """Parameters and running statistics after the steps, and what the ORTModules ran."""
    build, use = CASES[name]
    made: list[ORTModule] = []

    def wrap(module: nn.Module) -> nn.Module:
        if not wrapped:
            return module
        made.append(ORTModule(module))
        return made[-1]

    module = build(wrap)
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    for _ in use(module, rows_of(dist.get_rank())):
        optimizer.step()
        optimizer.zero_grad()
    return {
        "state": {key.replace("module.", ""): whole(value) for key, value in state(module)},
        "graphs": sum(len(each.built_graphs) for each in made),
        "pytorch_calls": [why for each in made for why in each.pytorch_calls],
        "found": any(isinstance(each, ORTModule) for each in module.modules()),
    }


def state(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


def whole(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).double()


def compare(name: str) -> dict[str, Any]:
    """The largest difference from the plain module, and between the ranks."""
    plain, ort = train(name, wrapped=False), train(name, wrapped=True)
    assert list(plain["state"]) == list(ort["state"])
    flat = torch.cat([value.flatten() for value in ort["state"].values()])
    expected = torch.cat([value.flatten() for value in plain["state"].values()])
    first = flat.clone()
    dist.broadcast(first, 0)
    worst = torch.stack([(flat - expected).abs().max(), (flat - first).abs().max()])
    # What is no number is larger than all.
    worst = worst.nan_to_num(nan=float("inf"))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {
        "difference": worst[0].item(),
        "ranks_apart": worst[1].item(),
        **{key: ort[key] for key in ("graphs", "pytorch_calls", "found")},
    }


def on_each_rank(path: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    answers = {}
    for name in names:
        answers[name] = compare(name)
        if dist.get_rank() == 0:
            path.write_text(json.dumps(answers))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        on_each_rank(Path(sys.argv[1]), sys.argv[2:])
    else:
        module = ["--module", "tests.ort.ortmodule.parallel_probe", *sys.argv[1:]]
        torchrun(["--standalone", f"--nproc-per-node={RANKS}", *module])
