"""`functional.instance_norm` with running statistics, which the exporters do not support."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def instance_norm(
    input: Tensor,  # noqa: A002
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Result of the function of that name, with an explicit update of the running statistics.

    With running statistics it is a batch normalization. They are updated with the mean and unbiased
    variance of each channel of an instance, averaged over the batch.
    """
    if not use_input_stats:
        return functional.batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    if running_mean is not None and running_var is not None:
        places = tuple(range(2, input.ndim))
        with torch.no_grad():
            mean = input.mean(places).mean(0)
            variance = input.var(places).mean(0)
            for running, new in ((running_mean, mean), (running_var, variance)):
                running.copy_(running * (1 - momentum) + new * momentum)
    return functional.instance_norm(input, weight=weight, bias=bias, eps=eps)
