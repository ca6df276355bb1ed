"""Uses of an ORTModule in a process group of one rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn


@contextmanager
def process_group() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def in_a_process_group(module: nn.Module) -> None:
    """PyTorch has no synchronized statistics on a CPU, and says so."""
    with process_group():
        module(torch.randn(3, 4))


def joins_a_process_group(module: nn.Module) -> None:
    """After calls in a graph, which has a BatchNorm in its place."""
    for _ in range(3):
        module(torch.randn(3, 4))
    assert module.built_graphs
    in_a_process_group(module)


def synchronized() -> nn.Module:
    # A bias before it has no gradient but what rounding leaves.
    return nn.Sequential(nn.Linear(4, 4, bias=False), nn.SyncBatchNorm(4))
