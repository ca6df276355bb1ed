"""Batches as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.data import Batch

if TYPE_CHECKING:
    from torch import Tensor


def as_tensors(batch: Batch) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Inputs and targets of the batch as tensors."""
    inputs = tuple(as_tensor(array) for array in batch.inputs)
    return inputs, tuple(as_tensor(array) for array in batch.targets)


def as_tensor(array: np.ndarray) -> Tensor:
    """The array as a tensor on the same memory; a read-only one is copied first."""
    import torch

    return torch.from_numpy(array if array.flags.writeable else array.copy())
