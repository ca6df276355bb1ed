"""Calls under `torch.autocast`: computed in float32, with the dtypes that PyTorch would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from workbench.ort.ortmodule.capture.preserved_buffers import preserved_buffers
from workbench.ort.ortmodule.capture.structure import Structure
from workbench.ort.ortmodule.capture.structure_tensors import dtypes_of


def autocast_dtype() -> torch.dtype | None:
    """What operations on the CPU are cast to at this moment, or None."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def result_dtypes(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    structure: Structure,
    dtype: torch.dtype,
) -> tuple[torch.dtype, ...]:
    """The dtypes of the tensors that `module` returns under autocast, found by running it once.

    Args:
        module: unchanged afterwards, as is the generator of random numbers.
        args: of a call.
        kwargs: of the call.
        structure: that of what it returns.
        dtype: what autocast casts to.
    """
    with (
        torch.no_grad(),
        torch.random.fork_rng(devices=[]),
        preserved_buffers(module.buffers()),
        # Weights that were cast here, without a gradient, must not be found in the cache later.
        torch.autocast("cpu", dtype=dtype, cache_enabled=False),
    ):
        return tuple(dtypes_of(structure, module.forward(*args, **kwargs)))


def in_float32(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, in float32 if it is of a lower precision, which another layer left it in."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
