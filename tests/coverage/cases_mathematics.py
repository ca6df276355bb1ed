"""Elementwise functions."""

from __future__ import annotations

import torch

from tests.coverage.case import (
    Case,
    Operation,
    exactly,
    integers,
    normal,
    of,
    together,
    uniform,
    whole_numbers,
)

ANY = (normal((6,)), normal((3, 4, 5)))
TWO = (normal((6,), (6,)), normal((3, 4), (3, 4)))
BROADCAST = (normal((3, 4), (1, 4)), normal((3, 4), (3, 1)))
SMALL = (uniform(-0.7, 0.7, (6,)), uniform(-0.7, 0.7, (3, 4, 5)))
"""Where inverse functions are defined, after the scale and the shift."""
POSITIVE = (uniform(0.3, 2.5, (6,)), uniform(0.3, 2.5, (3, 4, 5)))
OVER_ONE = (uniform(1.6, 4.0, (6,)), uniform(1.6, 4.0, (3, 4, 5)))
CORNERS = whole_numbers(-2, 2, (8,))
ORDINARY = (
    "abs", "exp", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "erfc",
    "sigmoid", "square", "neg",
)  # fmt: skip
ZERO_GRADIENT = ("sign", "floor", "round", "ceil", "trunc")


def each(names: tuple[str, ...], *samples: object) -> tuple[Case, ...]:
    return tuple(of(name, getattr(torch, name), *samples) for name in names)  # type: ignore[arg-type]


def beside(function: Operation) -> Operation:
    """The gradient of `function` is zero but not that of what stands beside it."""
    return lambda x: x + function(x) * x


def also(case: Case, *others: Case) -> Case:
    """`case` with the variants of others."""
    return case._replace(
        variants=(*case.variants, *(each for other in others for each in other.variants))
    )


def corners(case: Case, function: Operation, low: int, high: int) -> Case:
    """`case`, of a function of two, at pairs of integers too."""
    return also(case, exactly("", function, whole_numbers(low, high, (12,), (12,))))


CASES: tuple[Case, ...] = (
    *each(ORDINARY, *ANY),
    of("tan", torch.tan, *SMALL),
    *each(("asin", "acos", "atanh"), *SMALL),
    of("acosh", torch.acosh, *OVER_ONE),
    *each(("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"), *POSITIVE),
    of("log1p, tiny", lambda x: torch.log1p(x * 1e-4), *ANY),
    of("expm1, tiny", lambda x: torch.expm1(x * 1e-4), *ANY),
    of("exp2", torch.exp2, *ANY),
    *each(ZERO_GRADIENT, *ANY),
    *(of(f"{name}, beside", beside(getattr(torch, name)), *ANY) for name in ZERO_GRADIENT),
    of("frac", torch.frac, *ANY),
    of("round, decimals", lambda x: x * torch.round(x, decimals=1), *ANY),
    exactly("abs at its corner", torch.abs, CORNERS),
    of("add", torch.add, *TWO, *BROADCAST),
    of("sub, alpha", lambda x, y: torch.sub(x, y, alpha=0.3), *TWO),
    of("mul", torch.mul, *TWO, *BROADCAST),
    of("div", torch.div, uniform(0.4, 2.0, (6,), (6,)), uniform(0.4, 2.0, (3, 4), (1, 4))),
    of("div, rounding_mode floor", lambda x, y: x + torch.div(x, y, rounding_mode="floor"), *TWO),
    corners(of("atan2", torch.atan2, *TWO), torch.atan2, -1, 1),
    of("hypot", torch.hypot, *TWO),
    of("copysign", torch.copysign, *TWO, *BROADCAST),
    of("pow 2", lambda x: x**2, *ANY),
    of("pow 3", lambda x: x**3, *ANY),
    of("pow 2.5", lambda x: x**2.5, *POSITIVE),
    of("pow -1", lambda x: x**-1, *POSITIVE),
    of("pow of negative numbers, tensor exponent", lambda x: torch.pow(x, torch.tensor(3.0)), *ANY),
    corners(of("pow, trained exponent", torch.pow, uniform(0.4, 2.0, (6,), (6,))), torch.pow, 0, 3),
    of("pow, trained exponent, broadcast", torch.pow, uniform(0.4, 2.0, (3, 4), (1, 4))),
    of("pow of a number", lambda x: 1.7**x, *ANY),
    of("clamp", lambda x: torch.clamp(x, -0.7, 0.9), *ANY),
    also(
        of("clamp, min", lambda x: torch.clamp(x, min=-0.4), *ANY),
        exactly("", lambda x: torch.clamp(x, min=0), CORNERS),
    ),
    also(
        of("clamp, max", lambda x: torch.clamp(x, max=0.4), *ANY),
        exactly("", lambda x: torch.clamp(torch.relu(x), max=2), CORNERS),
    ),
    of("clamp, trained bounds", torch.clamp, uniform(-1.0, 1.0, (8,), (8,), (8,))),
    exactly("clamp at its bounds", lambda x: torch.clamp(x, -1.0, 1.0), CORNERS),
    exactly("clamp at its trained bounds", torch.clamp, whole_numbers(-1, 1, (8,), (8,), (8,))),
    of("minimum", torch.minimum, *TWO, *BROADCAST),
    of("maximum", torch.maximum, *TWO, *BROADCAST),
    exactly("maximum of equal numbers", torch.maximum, whole_numbers(0, 1, (6,), (6,))),
    exactly("minimum of equal numbers", torch.minimum, whole_numbers(0, 1, (6,), (6,))),
    of("fmod", lambda x: torch.fmod(x, 0.7), *ANY),
    of("fmod of two", torch.fmod, uniform(0.4, 2.0, (6,), (6,))),
    of("remainder", lambda x: torch.remainder(x, 0.7), *ANY),
    of("remainder of two", torch.remainder, uniform(0.4, 2.0, (6,), (6,))),
    of("remainder of integers", lambda x, n: x * torch.remainder(n, 3),
       together(normal((6,)), integers(10, (6,)))),
    of("where", lambda x, y: torch.where(x > y, x * 2.0, y.sin()), *TWO),
    of("where, broadcast", lambda x, y: torch.where(x > 0, x, y), *BROADCAST),
    of("where, a number", lambda x: torch.where(x > 0.2, x, 0.1), *ANY),
    of("masked_fill", lambda x: x.masked_fill(x > 0.3, -1.0), *ANY),
    of("masked_fill with -inf, softmax",
       lambda x: x.masked_fill(x > 1.0, float("-inf")).softmax(-1), normal((6,), spread=0.8)),
    of("lerp", lambda x, y: torch.lerp(x, y, 0.3), *TWO),
    of("lerp, trained weight", torch.lerp, normal((6,), (6,), (6,))),
    of("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), normal((6,), (6,), (6,))),
    of("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5),
       uniform(0.4, 2.0, (6,), (6,), (6,))),
    of("logaddexp", torch.logaddexp, *TWO, normal((8,), (8,), spread=100.0)),
    of("xlogy", torch.xlogy, uniform(0.4, 2.0, (6,), (6,))),
    also(of("sinc", torch.sinc, *POSITIVE), exactly("", torch.sinc, CORNERS)),
    of("nan_to_num", torch.nan_to_num, *ANY),
    of("heaviside, beside", lambda x: x * (x > 0).float(), *ANY),
)  # fmt: skip
