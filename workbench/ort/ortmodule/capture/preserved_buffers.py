"""Saves buffers before a trial run and restores them after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch


@contextmanager
def preserved_buffers(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Context that restores the values of the tensors at its end.

    Those that were not changed are not written: autograd would take that for a change.
    """
    before = [(tensor, tensor.detach().clone()) for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in before:
                if not torch.equal(tensor, value):
                    tensor.copy_(value)
