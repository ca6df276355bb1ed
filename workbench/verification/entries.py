"""Chooses the entries of the parameters for finite differences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

TOTAL = 240
"""Target number of entries over all parameters; each needs two forward passes."""

FEWEST, MOST = 2, 8
"""Limits for the entries of one parameter."""


def choose_entries(gradients: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Flat int64 indices into each parameter.

    The entry with the largest gradient, and random ones, which detect gradients that are zero by
    mistake.

    Args:
        gradients: gradients of one engine, by parameter.
        seed: random seed.
    """
    random = np.random.default_rng(seed)
    each = min(MOST, max(FEWEST, TOTAL // max(1, len(gradients))))
    chosen = {}
    for name, gradient in gradients.items():
        flat = np.nan_to_num(np.abs(gradient.reshape(-1)), nan=np.inf)
        largest = int(flat.argmax())
        drawn = random.choice(flat.size, size=min(each, flat.size), replace=False)
        others = [int(entry) for entry in drawn if entry != largest]
        chosen[name] = np.array([largest, *others][:each], dtype=np.int64)
    return chosen
