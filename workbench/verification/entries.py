"""Which entries of the parameters finite differences are taken of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

TOTAL = 240
"""Entries over all parameters that are aimed for; each costs two forward passes."""

FEWEST, MOST = 2, 8
"""Entries of one parameter."""


def choose_entries(gradients: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Flat indices, int64, into each parameter.

    The entry with the largest gradient, by which errors are measured, and others at random, among
    which a gradient that is wrongly zero shows.

    Args:
        gradients: of one engine, by parameter.
        seed: of the draw.
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
