"""When a chart needs a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LOG_SPREAD = 30.0
"""Curves whose typical values differ by more than this are unreadable on a linear axis: the lower
is a line at zero."""


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
