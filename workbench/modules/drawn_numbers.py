"""The random numbers of this process: their seed, and whether any were drawn."""

from __future__ import annotations


def has_drawn(seed: int) -> bool:
    """Whether PyTorch's generator has drawn numbers since it was seeded with `seed`, or was seeded
    again."""
    import torch

    seeded = torch.Generator().manual_seed(seed).get_state()
    return not torch.equal(seeded, torch.get_rng_state())


def initial_seed() -> int:
    """The seed of PyTorch's generator: the default one in a process that has set none."""
    import torch

    return torch.initial_seed()
