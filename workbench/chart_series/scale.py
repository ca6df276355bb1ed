"""When a chart needs a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LOG_SPREAD = 30.0
"""Curves whose typical values differ by more than this are unreadable on a linear axis: the lower
is a line at zero."""
EXPLODED = 50.0
"""Multiple of the first loss above which a training has exploded."""
RISEN = 1.2
"""Multiple of the lowest test loss so far above which it has risen."""


def spread(curves: Iterable[np.ndarray]) -> float:
    """Ratio of the largest to the smallest typical value, the median, of the curves.

    1.0 where fewer than two curves have positive values.
    """
    typical = []
    for values in curves:
        positive = values[np.isfinite(values) & (values > 0)]
        if len(positive):
            typical.append(float(np.median(positive)))
    return max(typical) / min(typical) if len(typical) > 1 else 1.0


def loss_span(losses: np.ndarray, test_losses: np.ndarray) -> float:
    """How many times a loss differs from what it shall be compared with: what `hidden_rise` or
    `explosion` finds, 1.0 where neither does.

    Args:
        losses: (steps,) of the training, or means of some steps each.
        test_losses: (evaluations,) in their order.
    """
    if not len(losses):
        return 1.0
    return max(hidden_rise(float(losses[0]), test_losses), explosion(losses))


def explosion(losses: np.ndarray) -> float:
    """Ratio of the highest finite loss to the first; 1.0 up to `EXPLODED`.

    On a linear axis to such a height all that came before is a line at zero.
    """
    finite = losses[np.isfinite(losses)]
    first = float(losses[0])
    ratio = float(finite.max()) / first if len(finite) and first > 0 else 1.0
    return ratio if ratio > EXPLODED else 1.0


def hidden_rise(first_loss: float, test_losses: np.ndarray) -> float:
    """Ratio of the first loss to the lowest on the test split, if that has risen in between.

    1.0 where it has not. A rise at a height of a thirtieth is not seen on a linear axis, though it
    tells that the model overfits. The result never falls as evaluations are added, so that the axis
    changes once.

    Args:
        first_loss: of the training.
        test_losses: (evaluations,) in their order.
    """
    known = test_losses[np.isfinite(test_losses) & (test_losses > 0)]
    rises = known >= RISEN * np.minimum.accumulate(known)
    return float(first_loss / known.min()) if rises.any() and np.isfinite(first_loss) else 1.0
