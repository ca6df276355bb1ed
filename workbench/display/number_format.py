"""Numbers as people read them; the page's number_format.ts writes the same."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

DIGITS = 3
SMALLEST_PLAIN = 1e-4
"""Below it a number is written with an exponent."""


def significant(value: float) -> str:
    """A ratio or a throughput with three significant digits or more: 0.00283, 1.07, 364, 12,345.

    A number from 100 on has all digits of its whole part, with a comma between thousands. Halves
    are rounded away from zero, as JavaScript does.
    """
    if not math.isfinite(value):
        return "–"  # noqa: RUF001, the page's sign for no figure
    if value == 0:
        return "0"
    exact = Decimal(float(value))
    rounded = Context(prec=DIGITS, rounding=ROUND_HALF_UP).create_decimal(exact)
    if abs(value) < SMALLEST_PLAIN:
        return f"{float(rounded):.{DIGITS - 1}e}"
    # The exponent after rounding: 0.9996 is 1.00, not 1.000.
    decimals = DIGITS - 1 - rounded.adjusted()
    if decimals > 0:
        return f"{rounded:.{decimals}f}"
    return f"{exact.to_integral_value(ROUND_HALF_UP):,f}"
