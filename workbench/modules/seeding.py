"""A temporary random seed for building a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator inside the block, and restore its state afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also reseed accelerators, whose state is not restored here.
        torch.default_generator.manual_seed(seed)
        yield
