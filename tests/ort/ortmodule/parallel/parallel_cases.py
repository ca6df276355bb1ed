"""Ways of training one module in several processes, each with the plain module and with ORTModule.

A case is given what to make its module of and trains it on this rank's share of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.fsdp import CPUOffloadPolicy, FullyShardedDataParallel, fully_shard
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

Wrap = Callable[[nn.Module], nn.Module]
"""Makes an ORTModule of a module, or leaves it plain."""
Rows = tuple[Tensor, Tensor]

STEPS = 3


class Network(nn.Module):
    def __init__(self, *, normalized: bool = False, unused: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(12, 32)
        self.norm = nn.BatchNorm1d(32) if normalized else nn.Identity()
        self.second = nn.Linear(32, 32)
        self.last = nn.Linear(32, 10)
        if unused:
            self.unused = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(torch.relu(self.first(x)))
        result: Tensor = self.last(nn.functional.gelu(self.second(y)))
        return result


class Deep(nn.Sequential):
    """Enough layers for as many pieces; buckets of `PIECES` hold less than one of them."""

    def __init__(self, *, normalized: bool = False, tied: bool = False) -> None:
        middle = [nn.Linear(32, 32) for _ in range(4)]
        if tied:
            middle[3].weight = middle[0].weight
        norm = nn.BatchNorm1d(32) if normalized else nn.Identity()
        hidden = [layer for each in middle for layer in (each, nn.GELU())]
        super().__init__(nn.Linear(12, 32), norm, nn.ReLU(), *hidden, nn.Linear(32, 10))


PIECES = {"bucket_cap_mb": 0.001}


def network(**choices: bool) -> Network:
    torch.manual_seed(0)
    return Network(**choices)


def ddp(**options: Any) -> Callable[[Wrap], nn.Module]:
    return lambda wrap: DistributedDataParallel(wrap(network()), **options)


def deep(**choices: bool) -> Deep:
    torch.manual_seed(0)
    return Deep(**choices)


def in_pieces(*, frozen: bool = False, **choices: Any) -> Callable[[Wrap], nn.Module]:
    """DDP with buckets that are smaller than the layers."""
    of_network = {key: choices.pop(key) for key in ("normalized", "tied") if key in choices}

    def build(wrap: Wrap) -> nn.Module:
        module = deep(**of_network)
        module[3].requires_grad_(not frozen)
        return DistributedDataParallel(wrap(module), **PIECES, **choices)

    return build


def in_pieces_with_unused_layer(wrap: Wrap) -> nn.Module:
    module = network(unused=True)
    return DistributedDataParallel(wrap(module), find_unused_parameters=True, **PIECES)


def in_compressed_pieces(wrap: Wrap) -> nn.Module:
    module = in_pieces()(wrap)
    module.register_comm_hook(None, fp16_compress_hook)  # type: ignore[operator]
    return module


def with_unused_layer(wrap: Wrap) -> nn.Module:
    return DistributedDataParallel(wrap(network(unused=True)), find_unused_parameters=True)


def with_batch_norm(wrap: Wrap) -> nn.Module:
    return DistributedDataParallel(wrap(network(normalized=True)))


def with_frozen_layer(wrap: Wrap) -> nn.Module:
    module = network()
    module.first.requires_grad_(False)
    return DistributedDataParallel(wrap(module))


def wrapped_layer(wrap: Wrap) -> nn.Module:
    module = network()
    module.second = wrap(nn.Sequential(module.second, nn.ReLU()))  # type: ignore[assignment]
    return DistributedDataParallel(module)


def with_compressed_gradients(wrap: Wrap) -> nn.Module:
    module = DistributedDataParallel(wrap(network()))
    module.register_comm_hook(None, fp16_compress_hook)
    return module


def sharded(*, reshard: bool) -> Callable[[Wrap], nn.Module]:
    return lambda wrap: fully_shard(wrap(network()), reshard_after_forward=reshard)


def sharded_offloaded(wrap: Wrap) -> nn.Module:
    """Shards lie in memory that the whole parameters are gathered from in each pass."""
    return fully_shard(wrap(network()), offload_policy=CPUOffloadPolicy(pin_memory=False))


def sharded_by_fsdp_1(wrap: Wrap) -> nn.Module:
    return FullyShardedDataParallel(
        wrap(network()), use_orig_params=True, device_id=torch.device("cpu")
    )


def sharded_inside(*, reshard: bool) -> Callable[[Wrap], nn.Module]:
    return lambda wrap: wrap(fully_shard(network(), reshard_after_forward=reshard))


def sharded_layers(*, reshard: bool) -> Callable[[Wrap], nn.Module]:
    def build(wrap: Wrap) -> nn.Module:
        module = network()
        for name in ("first", "second", "last"):
            setattr(module, name, wrap(getattr(module, name)))
            fully_shard(getattr(module, name), reshard_after_forward=reshard)
        return fully_shard(module)

    return build


def every_step(module: nn.Module, rows: Rows) -> Iterator[None]:
    """A backward pass for each step, over all rows."""
    for _ in range(STEPS):
        cross_entropy(module(rows[0]), rows[1]).backward()
        yield


def accumulated(module: Any, rows: Rows) -> Iterator[None]:
    """Two backward passes for each step, of which only the second communicates."""
    half = len(rows[1]) // 2
    for _ in range(STEPS):
        set_sync = getattr(module, "set_requires_gradient_sync", None)
        if set_sync is None:
            with module.no_sync():
                (cross_entropy(module(rows[0][:half]), rows[1][:half]) / 2).backward()
        else:
            set_sync(False)
            (cross_entropy(module(rows[0][:half]), rows[1][:half]) / 2).backward()
            set_sync(True)
        (cross_entropy(module(rows[0][half:]), rows[1][half:]) / 2).backward()
        yield


def applied_twice(module: nn.Module, rows: Rows) -> Iterator[None]:
    """Two forward passes before each backward pass, which goes through both."""
    half = len(rows[1]) // 2
    for _ in range(STEPS):
        first = cross_entropy(module(rows[0][:half]), rows[1][:half])
        (first + cross_entropy(module(rows[0][half:]), rows[1][half:])).div(2).backward()
        yield


def other_sizes(module: nn.Module, rows: Rows) -> Iterator[None]:
    """Batches that differ in size by rank."""
    rank = torch.distributed.get_rank()
    for size in ((16, 16), (7, 13), (1, 16)):
        taken = size[rank % 2]
        cross_entropy(module(rows[0][:taken]), rows[1][:taken]).backward()
        yield


def joined(module: Any, rows: Rows) -> Iterator[None]:
    """One rank runs out of batches before the other."""
    with Join([module]):
        for _ in range(STEPS if torch.distributed.get_rank() == 0 else STEPS - 1):
            cross_entropy(module(rows[0]), rows[1]).backward()
            yield


CASES: dict[str, tuple[Callable[[Wrap], nn.Module], Callable[..., Iterator[None]]]] = {
    "ddp": (ddp(), every_step),
    "ddp-accumulated": (ddp(), accumulated),
    "ddp-static-graph": (ddp(static_graph=True), every_step),
    "ddp-bucket-views": (ddp(gradient_as_bucket_view=True, bucket_cap_mb=0.001), every_step),
    "ddp-unused-parameters": (with_unused_layer, every_step),
    "ddp-batch-norm": (with_batch_norm, every_step),
    "ddp-frozen-layer": (with_frozen_layer, every_step),
    "ddp-wrapped-layer": (wrapped_layer, every_step),
    "ddp-compressed-gradients": (with_compressed_gradients, every_step),
    "ddp-pieces-twice": (in_pieces(), applied_twice),
    "ddp-pieces": (in_pieces(), every_step),
    "ddp-pieces-accumulated": (in_pieces(), accumulated),
    "ddp-pieces-tied": (in_pieces(tied=True), every_step),
    "ddp-pieces-static-graph": (in_pieces(static_graph=True), every_step),
    "ddp-pieces-unused-parameters": (in_pieces_with_unused_layer, every_step),
    "ddp-pieces-bucket-views": (in_pieces(gradient_as_bucket_view=True), accumulated),
    "ddp-pieces-batch-norm": (in_pieces(normalized=True), every_step),
    "ddp-pieces-frozen-layer": (in_pieces(frozen=True), every_step),
    "ddp-pieces-compressed-gradients": (in_compressed_pieces, every_step),
    "ddp-pieces-other-sizes": (in_pieces(), other_sizes),
    "ddp-pieces-join": (in_pieces(), joined),
    "ddp-other-sizes": (ddp(), other_sizes),
    "ddp-join": (ddp(), joined),
    "fully-shard": (sharded(reshard=False), every_step),
    "fully-shard-reshard": (sharded(reshard=True), every_step),
    "fully-shard-accumulated": (sharded(reshard=True), accumulated),
    "fully-shard-offloaded": (sharded_offloaded, every_step),
    "fsdp-1": (sharded_by_fsdp_1, every_step),
    "fully-shard-inside": (sharded_inside(reshard=False), every_step),
    "fully-shard-inside-reshard": (sharded_inside(reshard=True), every_step),
    "fully-shard-layers": (sharded_layers(reshard=False), every_step),
    "fully-shard-layers-reshard": (sharded_layers(reshard=True), every_step),
}

IN_ONE_PROCESS: dict[str, Callable[[], nn.Module]] = {
    **dict.fromkeys(("ddp", "ddp-accumulated", "ddp-static-graph"), network),
    **dict.fromkeys(("fully-shard", "fully-shard-reshard", "fsdp-1"), network),
    **dict.fromkeys(("fully-shard-layers", "fully-shard-layers-reshard"), network),
    **dict.fromkeys(("ddp-pieces", "ddp-pieces-accumulated", "ddp-pieces-twice"), deep),
    "ddp-pieces-tied": partial(deep, tied=True),
}
"""The plain module of cases that equal a training of one process on the rows of all."""
