"""Trains each case of the table on several ranks, plainly and under ORTModule; writes what came of
it.

    python -m tests.ort.ortmodule.parallel.parallel_probe RESULT_JSON RANKS [NAME ...]

starts itself once more under torchrun's elastic agent.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.run import main as torchrun
from torch.distributed.tensor import DTensor

from tests.ort.ortmodule.parallel.parallel_cases import (
    CASES,
    IN_ONE_PROCESS,
    Rows,
    every_step,
    in_pieces,
)
from workbench import ORTModule
from workbench.ort.ortmodule.session.session import GradientSession

ROWS = 16
"""Of each rank."""


EVENTS = "events"
"""The case that notes the order of what happens in a backward pass."""


def all_rows() -> Rows:
    generator = torch.Generator().manual_seed(1)
    count = dist.get_world_size() * ROWS
    x = torch.randn(count, 12, generator=generator)
    return x, torch.randint(0, 10, (count,), generator=generator)


def own_rows() -> Rows:
    x, y = all_rows()
    first = dist.get_rank() * ROWS
    return x[first:][:ROWS], y[first:][:ROWS]


def train(name: str, *, wrapped: bool, pieces: bool = True) -> dict[str, Any]:
    """Parameters and running statistics after the steps, and what the ORTModules ran."""
    build, use = CASES[name]
    made: list[ORTModule] = []

    def wrap(module: nn.Module) -> nn.Module:
        if not wrapped:
            return module
        made.append(ORTModule(module, {"gradient_pieces": pieces}))
        return made[-1]

    module = build(wrap)
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    for _ in use(module, own_rows()):
        optimizer.step()
        optimizer.zero_grad()
    return {
        "state": dict(state(module)),
        "graphs": sum(len(each.built_graphs) for each in made),
        "pytorch_calls": [why for each in made for why in each.pytorch_calls],
        "found": any(isinstance(each, ORTModule) for each in module.modules()),
    }


def state(module: nn.Module) -> list[tuple[str, Tensor]]:
    """Whole parameters and buffers by their names in the network."""
    sharded = isinstance(module, FullyShardedDataParallel)
    with FullyShardedDataParallel.summon_full_params(module) if sharded else nullcontext():
        held = [*module.named_parameters(), *module.named_buffers()]
        return [(re.sub(r"(_fsdp_wrapped_)?module\.", "", key), whole(each)) for key, each in held]


def whole(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    # A copy: what FSDP 1 gathers it releases.
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).double().clone()


def alone(name: str) -> Tensor:
    """The state after a plain training of one process on the rows of all."""
    module = IN_ONE_PROCESS[name]()
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    for _ in every_step(module, all_rows()):
        optimizer.step()
        optimizer.zero_grad()
    return flat(dict(state(module)))


def flat(values: dict[str, Tensor]) -> Tensor:
    return torch.cat([value.flatten() for value in values.values()])


def compare(name: str) -> dict[str, Any]:
    """The largest difference from the plain module, and between the ranks.

    In pieces, also from a whole graph, and from one process where that is to be equal.
    """
    plain, ort = train(name, wrapped=False), train(name, wrapped=True)
    assert list(plain["state"]) == list(ort["state"])
    found = flat(ort["state"])
    first = found.clone()
    dist.broadcast(first, 0)
    others = {"difference": flat(plain["state"]), "ranks_apart": first}
    if name.startswith("ddp-pieces"):
        one_graph = train(name, wrapped=True, pieces=False)
        assert one_graph["graphs"] < ort["graphs"]
        others["one_graph_apart"] = flat(one_graph["state"])
    if name in IN_ONE_PROCESS:
        others["one_process_apart"] = alone(name)
    worst = torch.stack([(found - other).abs().max() for other in others.values()])
    # What is no number is larger than all.
    worst = worst.nan_to_num(nan=float("inf"))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return {
        **dict(zip(others, worst.tolist(), strict=True)),
        **{key: ort[key] for key in ("graphs", "pytorch_calls", "found")},
    }


def events() -> list[str]:
    """Events of a backward pass, in order: runs of ONNX Runtime, and buckets that are full."""
    seen: list[str] = []
    run = GradientSession.backward

    def noting(session: GradientSession, *arguments: Any) -> list[Tensor]:
        gradients = run(session, *arguments)
        seen.append("run")
        return gradients

    def leave(bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        seen.append("bucket")
        return allreduce_hook(dist.group.WORLD, bucket)

    module = in_pieces()(ORTModule)
    # DDP reads the annotations of a function, and takes no text for them.
    module.register_comm_hook(None, lambda _, bucket: leave(bucket))  # type: ignore[operator]
    with patch.object(GradientSession, "backward", noting):
        for _ in every_step(module, own_rows()):
            last = seen.copy()
            seen.clear()
    return last


def on_each_rank(path: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    answers: dict[str, Any] = {}
    for name in names:
        if name == EVENTS:
            answers[name] = events()
        else:
            answers[name] = compare(name)
        if dist.get_rank() == 0:
            path.write_text(json.dumps(answers))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        on_each_rank(Path(sys.argv[1]), sys.argv[3:])
    else:
        module = ["--module", "tests.ort.ortmodule.parallel.parallel_probe", *sys.argv[1:]]
        torchrun(["--standalone", f"--nproc-per-node={sys.argv[2]}", *module])
