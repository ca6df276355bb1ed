"""Building a module from a seed without disturbing the caller's random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's CPU generator starts at `seed` inside and goes on as before outside."""
    import torch

    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also reseed every accelerator, which fork_rng then leaves so.
        torch.default_generator.manual_seed(seed)
        yield
