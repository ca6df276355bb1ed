"""Number formatting; the front end's number_format.ts has the same results."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

DIGITS = 3
LOSS_DECIMALS = 4
SMALLEST_PLAIN = 1e-4
SMALLEST_PLAIN_LOSS = 1e-3
LARGEST_PLAIN = 1e9
"""Smaller numbers, smaller losses, and numbers from the last on are in scientific notation."""


def significant(value: float) -> str:
    """Format a ratio or a throughput with three significant digits: 0.00283, 364, 12,300.

    More would tell of a precision that no measurement has. Halves are rounded away from zero, as in
    JavaScript. The loss of a diverged run may be 9.04e+26.
    """
    if not math.isfinite(value):
        return "–"  # noqa: RUF001, the front end's sign for a missing value
    if value == 0:
        return "0"
    exact = Decimal(float(value))
    rounded = Context(prec=DIGITS, rounding=ROUND_HALF_UP).create_decimal(exact)
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{float(rounded):.{DIGITS - 1}e}"
    # The exponent after rounding: 0.9996 is 1.00, not 1.000.
    decimals = DIGITS - 1 - rounded.adjusted()
    if decimals > 0:
        return f"{rounded:.{decimals}f}"
    return f"{rounded:,f}"


def percent(share: float) -> str:
    """Format a share of 1 in percent, without a sign: 75.3 of 0.7525, as the front end does."""
    return f"{Decimal(100 * share).quantize(Decimal('0.1'), ROUND_HALF_UP):f}"


def megabytes(size_bytes: float) -> str:
    """Format a size in memory in 10^6 bytes: 331, 51.7."""
    size = size_bytes / 1e6
    digits = Decimal(1) if size >= 100 else Decimal("0.1")
    return f"{Decimal(size).quantize(digits, ROUND_HALF_UP):,f}"


def loss_text(value: float) -> str:
    """Format a loss with four decimals: 2.3026, 0.0352; without any from 1,000 on: 1,235.

    Below 0.001 it is 5.00e-04. Every place that shows a loss has the same digits.
    """
    if not math.isfinite(value):
        return "not finite"
    if value == 0:
        return "0"
    if not SMALLEST_PLAIN_LOSS <= abs(value) < LARGEST_PLAIN:
        return f"{value:.{DIGITS - 1}e}"
    exact = Decimal(float(value))
    decimals = 0 if abs(value) >= 1000 else LOSS_DECIMALS
    return f"{exact.quantize(Decimal(10) ** -decimals, ROUND_HALF_UP):,f}"
