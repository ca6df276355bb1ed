"""Optimizers of torch without the parts that are for torch.compile.

Making, stepping and zeroing an optimizer each import torch._dynamo, with sympy and parts of
torch._inductor, so that these functions are left out of compiled code: 800 modules and 80 MB in a
process that compiles nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.optim import Optimizer


def plain(kind: type[Optimizer]) -> Callable[..., Optimizer]:
    """A subclass of an optimizer of torch, of the same name and with the same results.

    Its methods are not to be called in compiled code, and it does not have `differentiable`.
    """
    import torch

    methods = {
        # Around the step torch turns gradients off and ends a compiled graph.
        "step": torch.no_grad()(inspect.unwrap(kind.step)),
        "zero_grad": inspect.unwrap(kind.zero_grad),
        "add_param_group": inspect.unwrap(kind.add_param_group),
    }
    return type(kind.__name__, (kind,), methods)
