"""ORTModule together with PyTorch's data-parallel wrappers."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from workbench.errors import UntrainableError

_FSDP = "torch.distributed.fsdp"


def refuse_parallel_wrappers(module: nn.Module) -> None:
    """Raise where `module` is or contains a wrapper that has to be around an ORTModule.

    A graph holds layers alone: the averaging of gradients that such a wrapper does in its forward
    and backward passes would be lost silently.

    Raises:
        UntrainableError: names the wrapper and the order that works.
    """
    for name, each in module.named_modules():
        if isinstance(each, (DistributedDataParallel, DataParallel, *_fully_sharded_class())):
            kind = type(each).__name__
            where = f"contains a {kind} at {name!r}" if name else f"is a {kind}"
            raise UntrainableError(
                f"ORTModule cannot wrap this module, which {where}: its exchange of gradients "
                f"would be lost. Wrap in the other order: {kind}(ORTModule(module))."
            )


def releases_memory(modules: Iterable[nn.Module]) -> bool:
    """Whether one of them is sharded by `fully_shard`, which releases or moves its parameters'
    memory between the forward and the backward pass."""
    fsdp = sys.modules.get(_FSDP)
    return fsdp is not None and any(isinstance(each, fsdp.FSDPModule) for each in modules)


def partitioned(tensors: Iterable[Tensor]) -> bool:
    """Whether DeepSpeed's ZeRO 3 has partitioned one of them: its hooks gather the parameters of a
    layer when that layer is called, and release them after it."""
    return "deepspeed" in sys.modules and any(hasattr(each, "ds_id") for each in tensors)


def bucket_bytes() -> int | None:
    """Size of the buckets in which the gradients of the call in progress are exchanged during its
    backward pass; None where they are not: outside of DistributedDataParallel, or in one process.
    Gradients that fit into one bucket leave together, in pieces or not.
    """
    around: DistributedDataParallel | None = DistributedDataParallel._active_ddp_module
    if around is None or around.process_group.size() == 1:
        return None
    return int(around.bucket_bytes_cap)


def in_process_group() -> bool:
    """Whether this process has joined a group: layers such as SyncBatchNorm ask for it."""
    return bool(dist.is_initialized())


def _fully_sharded_class() -> tuple[type, ...]:
    # Without an import there is none, and the import takes a second.
    fsdp = sys.modules.get(_FSDP)
    return () if fsdp is None else (fsdp.FullyShardedDataParallel,)
