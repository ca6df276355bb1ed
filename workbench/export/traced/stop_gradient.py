"""An operator that stops the gradient, and is preserved in a trace."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.library.custom_op("workbench::stop_gradient", mutates_args=())
def stop_gradient(x: Tensor) -> Tensor:
    """A copy of `x`, without a gradient."""
    return x.clone()


stop_gradient.register_fake(torch.empty_like)

STOP_GRADIENT = torch.ops.workbench.stop_gradient.default
"""The operator that represents a call of `stop_gradient` in a trace."""
