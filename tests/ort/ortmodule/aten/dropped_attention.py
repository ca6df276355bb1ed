"""Part of `kernel_probe`: attention with dropout in ORTModule's graphs."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from tests.ort.ortmodule.noted_sessions import kernels
from workbench import ORTModule
from workbench.ort.ortmodule.capture.export_once import shared_exports

Answer = dict[str, Any]

SHARE = 0.25
SWITCHES = ("all", "dropout", "off")
"""Values of `pytorch_kernels`: in the first two PyTorch's generator gives the seed."""


class Dropping(nn.Module):
    """Attention of a parameter to itself, its probabilities dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(2, 3, 9, 8))

    def forward(self, x: Tensor) -> Tensor:
        y = self.places * x
        share = SHARE if self.training else 0.0
        return nn.functional.scaled_dot_product_attention(y, y, y, dropout_p=share)


@shared_exports()
def dropped() -> Answer:
    torch.manual_seed(0)
    plain = Dropping()
    x = torch.ones(2, 3, 9, 8)
    expected = copy.deepcopy(plain).eval()(x).detach()
    return {switch: _with(switch, plain, x, expected) for switch in SWITCHES}


def _with(switch: str, plain: nn.Module, x: Tensor, expected: Tensor) -> Answer:
    options = {"pytorch_kernels": switch}

    def drawn(seed: int) -> tuple[Tensor, Tensor]:
        torch.manual_seed(seed)
        wrapped = ORTModule(copy.deepcopy(plain), options=options)
        return wrapped(x).detach(), wrapped(x).detach()

    (one, two), again, other = drawn(3), drawn(3), drawn(4)
    wrapped = ORTModule(copy.deepcopy(plain), options=options)
    mean = torch.stack([wrapped(x).detach() for _ in range(400)]).mean(0)
    answer: Answer = {
        "chosen": kernels().chosen,
        "mean": float((mean - expected).abs().max() / expected.abs().max()),
        "anew": float((one - two).abs().max()),
        "alike": torch.equal(one, again[0]) and torch.equal(two, again[1]),
        "other seed": float((one - other[0]).abs().max()),
    }
    if switch != "off":
        answer |= _slope(wrapped, x)
    return answer


def _slope(wrapped: nn.Module, x: Tensor) -> Answer:
    """The slope of a sum along its gradient, with one seed of PyTorch's, which it should be."""
    places = wrapped.get_parameter("places")

    def result() -> Tensor:
        torch.manual_seed(5)
        found: Tensor = wrapped(x).square().sum()
        return found

    result().backward()
    assert places.grad is not None
    gradient, start = places.grad.clone(), places.detach().clone()
    step, ends = 0.01 / float(gradient.norm()), []
    for sign in (1, -1):
        with torch.no_grad():
            places.copy_(start + sign * step * gradient)
        ends.append(float(result().detach()))
    return {
        "slope": (ends[0] - ends[1]) / (2 * step),
        "squared": float(gradient.square().sum()),
    }
