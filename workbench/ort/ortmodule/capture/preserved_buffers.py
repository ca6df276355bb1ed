"""Saves buffers before a trial run and restores them after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch


@contextmanager
def preserved_buffers(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Give the tensors their values back afterwards."""
    before = [(tensor, tensor.detach().clone()) for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in before:
                tensor.copy_(value)
