"""How much the clients' privacy was spent: epsilon of the Gaussian mechanism over the rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

_BISECTIONS = 100


class PrivacyAccountant:
    """Counts the noisy releases that each client contributed to.

    A release with noise of `noise_multiplier` times its sensitivity is a Gaussian mechanism, and
    several of them together are exactly one whose inverse squared multiplier is the sum of theirs.
    Which clients a round selects is assumed to be known: sampling does not amplify the privacy, so
    that this holds however clients are drawn.
    Source: Dong, Roth and Su, Gaussian Differential Privacy, arXiv:1905.02383, corollary 3.3.
    """

    def __init__(self, clients: int) -> None:
        self.spent = np.zeros(clients)
        """Of each client the sum of the inverse squared noise multipliers."""

    def add(self, clients: Iterable[int], noise_multiplier: float) -> None:
        """Count a release that these clients contributed to."""
        self.spent[list(clients)] += noise_multiplier**-2

    def epsilon(self, delta: float) -> float:
        """That of the client that contributed most; 0 before the first release."""
        spent = float(self.spent.max())
        return gaussian_epsilon(spent**-0.5, delta) if spent else 0.0


def gaussian_epsilon(noise_multiplier: float, delta: float) -> float:
    """Epsilon of one Gaussian mechanism, to 1e-9 of itself, never below.

    Source: Balle and Wang, Improving the Gaussian Mechanism, arXiv:1805.06530, theorem 8.

    Args:
        noise_multiplier: standard deviation of the noise over the L2 sensitivity.
        delta: probability above which epsilon must hold, between 0 and 1.
    """
    low, high = 0.0, 1.0
    if _delta(0.0, noise_multiplier) <= delta:
        return 0.0
    while _delta(high, noise_multiplier) > delta:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _delta(middle, noise_multiplier) > delta:
            low = middle
        else:
            high = middle
    return high


def _delta(epsilon: float, noise_multiplier: float) -> float:
    # scipy takes a fifth of a second to import: only private runs need it.
    from scipy.special import log_ndtr

    half, shift = 1 / (2 * noise_multiplier), epsilon * noise_multiplier
    within, beyond = float(log_ndtr(half - shift)), float(log_ndtr(-half - shift))
    return math.exp(within) - math.exp(epsilon + beyond)
