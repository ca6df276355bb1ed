"""Activation functions."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.coverage.case import Case, exactly, normal, of, through, uniform, whole_numbers

ROWS = (normal((6,), spread=3.0), normal((3, 4, 5), spread=3.0))
"""Far enough from zero, both ways, to meet every piece of a piecewise function."""
EVEN = (normal((6,), spread=3.0), normal((4, 5, 8), spread=3.0))


def extreme(rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Numbers at which a formula that is not stable overflows."""
    sizes = torch.tensor([-120.0, -90.0, -30.0, 30.0, 90.0, 120.0])
    return (sizes + torch.randn((rows, 6), generator=generator),)


CASES: tuple[Case, ...] = (
    through("ReLU", nn.ReLU, *ROWS),
    through("ReLU6", nn.ReLU6, normal((6,), spread=6.0), normal((3, 4, 5), spread=6.0)),
    through("LeakyReLU", nn.LeakyReLU, *ROWS),
    through("LeakyReLU(0.2)", lambda: nn.LeakyReLU(0.2), *ROWS),
    through("ELU", nn.ELU, *ROWS, extreme),
    through("ELU(0.7)", lambda: nn.ELU(0.7), *ROWS),
    through("SELU", nn.SELU, *ROWS, extreme),
    through("CELU", nn.CELU, *ROWS, extreme),
    through("CELU(0.6)", lambda: nn.CELU(0.6), *ROWS),
    through("GELU", nn.GELU, *ROWS, extreme),
    through("GELU(tanh)", lambda: nn.GELU("tanh"), *ROWS, extreme),
    through("SiLU", nn.SiLU, *ROWS, extreme),
    through("Mish", nn.Mish, *ROWS, extreme),
    through("Hardswish", nn.Hardswish, *ROWS),
    through("Hardsigmoid", nn.Hardsigmoid, *ROWS),
    through("Hardtanh", nn.Hardtanh, *ROWS),
    through("Hardtanh(-2, 0.5)", lambda: nn.Hardtanh(-2.0, 0.5), *ROWS),
    through("Softplus", nn.Softplus, *ROWS, extreme),
    through("Softplus(2, threshold 3)", lambda: nn.Softplus(2.0, 3.0), *ROWS),
    through("Softsign", nn.Softsign, *ROWS, extreme),
    through("PReLU", nn.PReLU, *ROWS),
    through("PReLU, a channel each", lambda: nn.PReLU(4), normal((4,)), normal((4, 5, 6))),
    through("Threshold", lambda: nn.Threshold(0.3, -1.0), *ROWS),
    through("Sigmoid", nn.Sigmoid, *ROWS, extreme),
    through("Tanh", nn.Tanh, *ROWS, extreme),
    through("Softmax", lambda: nn.Softmax(dim=-1), *ROWS, extreme),
    through("Softmax(dim=1)", lambda: nn.Softmax(dim=1), *ROWS),
    through("Softmin", lambda: nn.Softmin(dim=-1), *ROWS),
    through("Softmax2d", nn.Softmax2d, normal((3, 4, 5))),
    through("LogSoftmax", lambda: nn.LogSoftmax(dim=-1), *ROWS, extreme),
    through("LogSoftmax(dim=1)", lambda: nn.LogSoftmax(dim=1), *ROWS),
    through("LogSigmoid", nn.LogSigmoid, *ROWS, extreme),
    through("GLU", nn.GLU, *EVEN),
    through("GLU(dim=1)", lambda: nn.GLU(dim=1), *EVEN),
    through("Tanhshrink", nn.Tanhshrink, *ROWS),
    through("Softshrink", nn.Softshrink, *ROWS),
    through("Softshrink(0.8)", lambda: nn.Softshrink(0.8), *ROWS),
    through("Hardshrink", nn.Hardshrink, *ROWS),
    *(
        exactly(f"{made.__class__.__name__} at its corners", made, whole_numbers(-4, 7, (12,)))
        for made in (
            nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(), nn.ELU(), nn.SELU(), nn.CELU(), nn.Hardswish(),
            nn.Hardsigmoid(), nn.Hardtanh(), nn.Softsign(), nn.Threshold(1.0, -1.0),
            nn.Softshrink(1.0), nn.Hardshrink(1.0), nn.PReLU(),
        )
    ),
    of("relu squared", lambda x: functional.relu(x).square(), uniform(-2.0, 2.0, (6,))),
)  # fmt: skip
