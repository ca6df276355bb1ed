"""Seeds for what ONNX Runtime draws at random, one a batch, so that any batch can be the first."""

from __future__ import annotations

import numpy as np

_SEEDS_PER_BATCH = 1 << 12
"""Each node that draws takes the next seed; of a graph with more of them, some draw the same."""


class StepSeeds:
    """The seed of each batch, which depends on the seed of the run and the batch's number alone.

    Attributes:
        batches: how many batches have had their seed.
    """

    def __init__(self, seed: int) -> None:
        # ONNX Runtime draws the same for the seeds 0 and 1.
        self._first = int(np.random.default_rng(seed).integers(2, 2**31))
        self.batches = 0

    def next(self) -> int:
        """The seed of the next batch."""
        seed = self._first + self.batches * _SEEDS_PER_BATCH
        self.batches += 1
        return seed
