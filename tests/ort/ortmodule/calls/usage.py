"""A use of a module, and what the uses share.

A use is given a module and returns what is to be the same with the plain module and with an
ORTModule: tensors, numbers, names, in any nesting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

Use = Callable[[nn.Module], Any]


class UseCase(NamedTuple):
    """A module and what is done with it."""

    build: Callable[[], nn.Module]
    use: Use
    graphs: int = 1
    """How many graphs an ORTModule has in the end; 0 where PyTorch runs every call."""
    tolerance: float = 1e-5
    warns: str = ""
    """The expected fallback reason of calls that run in PyTorch; empty: there is none."""
    sweep: bool = False
    """Whether it is left to the long runs: its way is gone by others, too."""


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def gradients(module: nn.Module) -> dict[str, Tensor | None]:
    return {
        name: None if parameter.grad is None else parameter.grad.clone()
        for name, parameter in module.named_parameters()
    }


def step(module: nn.Module, *args: Any, **kwargs: Any) -> list[Any]:
    """Result and gradients of one call; the gradients are reset before."""
    module.zero_grad()
    result = module(*args, **kwargs)
    first = result if isinstance(result, Tensor) else next(iter(result))
    (first.float() ** 2).mean().backward()
    return [result, gradients(module)]
