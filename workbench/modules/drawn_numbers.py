"""Whether random numbers were drawn in this process."""

from __future__ import annotations


def has_drawn(seed: int) -> bool:
    """Whether PyTorch's generator has drawn numbers since it was seeded with `seed`, or was seeded
    again."""
    import torch

    seeded = torch.Generator().manual_seed(seed).get_state()
    return not torch.equal(seeded, torch.get_rng_state())
