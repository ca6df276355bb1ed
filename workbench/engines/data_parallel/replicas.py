"""Whether the ranks of a run hold the same model."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

TOLERANCE = 1e-3
"""Relative to the largest number of a tensor: rounding may differ by where its memory begins."""


def first_difference(tensors: Mapping[str, Tensor]) -> str | None:
    """Name of a tensor that differs between ranks; the result is the same on every rank.

    Values are exchanged only of tensors whose check sums differ.
    """
    import torch
    from torch import distributed

    sums = torch.tensor([zlib.crc32(_bytes(each)) for each in tensors.values()], dtype=torch.int64)
    lowest, highest = sums.clone(), sums.clone()
    distributed.all_reduce(lowest, distributed.ReduceOp.MIN)
    distributed.all_reduce(highest, distributed.ReduceOp.MAX)
    for (name, own), differs in zip(tensors.items(), (lowest != highest).tolist(), strict=True):
        if differs and _differs(own):
            return name
    return None


def _differs(own: Tensor) -> bool:
    from torch import distributed

    tolerance = TOLERANCE if own.is_floating_point() or own.is_complex() else 0.0
    values = _numbers(own)
    of_rank_0 = values.clone()
    distributed.broadcast(of_rank_0, 0)
    limit = tolerance * of_rank_0.abs().max()
    differs = ((values - of_rank_0).abs().max() > limit).float()
    distributed.all_reduce(differs, distributed.ReduceOp.MAX)
    return bool(differs)


def _bytes(tensor: Tensor) -> memoryview:
    import torch

    own: np.ndarray = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return own.data


def _numbers(tensor: Tensor) -> Tensor:
    import torch

    own = tensor.detach().reshape(-1)
    return (torch.view_as_real(own) if own.is_complex() else own).double().nan_to_num()


def not_exchangeable(module: nn.Module) -> list[str]:
    """The names of the buffers whose types gloo does not send."""
    import torch

    sent = (
        *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
        *(torch.complex64, torch.complex128),
        *(torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64),
    )
    return [name for name, each in module.named_buffers() if each.dtype not in sent]
