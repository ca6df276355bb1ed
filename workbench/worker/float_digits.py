"""Numbers of float32 as records hold them."""

from __future__ import annotations

import math


def rounded(value: float) -> float | None:
    """Seven digits, as many as float32 has; None where it is not finite."""
    return float(f"{value:.7g}") if math.isfinite(value) else None
