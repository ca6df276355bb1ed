"""Layers of torch that look at the values of tensors, as the exporters can follow them.

A graph does the same for every batch, so a layer that decides by values cannot be exported, even
where both ways lead to the same numbers: `nn.Transformer` compares its mask with a causal one to
find a faster kernel, and `nn.AdaptiveLogSoftmaxWithLoss` leaves out the clusters that no target of
the batch is in. While a module is exported these layers do what is right for any values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional
from torch.nn.modules import adaptive, transformer

from workbench.export.traced.stop_gradient import stop_gradient


@contextmanager
def without_value_branches() -> Iterator[None]:
    """Have the layers of torch decide nothing by values while it lasts."""
    validated = Distribution._validate_args
    kept = [(owner, name, getattr(owner, name)) for owner, name in _REPLACEMENTS]
    # Distributions look whether their parameters are allowed.
    Distribution.set_default_validate_args(False)
    for (owner, name), made in _REPLACEMENTS.items():
        setattr(owner, name, made)
    try:
        yield
    finally:
        for owner, name, own in kept:
            setattr(owner, name, own)
        Distribution.set_default_validate_args(validated)


def _is_causal(
    mask: Tensor | None,  # noqa: ARG001
    is_causal: bool | None = None,
    size: int | None = None,  # noqa: ARG001
) -> bool:
    """A mask is applied as it is, unless the caller says that it is the causal one."""
    return is_causal is True


def _adaptive_log_softmax(
    self: nn.AdaptiveLogSoftmaxWithLoss, input_: Tensor, target_: Tensor
) -> Any:
    """Every cluster computes for every row; what a row has no use for gets no gradient.

    Args:
        self: the layer.
        input_: (batch, features) or (features).
        target_: (batch) or a scalar.
    """
    rows, targets = (input_, target_) if target_.dim() else (input_[None], target_[None])
    head = self.head(rows).log_softmax(1)
    place, found = targets, torch.zeros_like(head[:, 0])
    for number, low in enumerate(self.cutoffs[:-1]):
        within = (targets >= low) & (targets < self.cutoffs[number + 1])
        cluster = self.tail[number](rows).log_softmax(1)
        nearest = (targets - low).clamp(0, cluster.shape[1] - 1)
        found = torch.where(within, cluster.gather(1, nearest[:, None])[:, 0], found)
        place = torch.where(within, self.shortlist_size + number, place)
    output = found + head.gather(1, place[:, None])[:, 0]
    loss = -output.mean()
    return adaptive._ASMoutput(output if target_.dim() else output[0], loss)


def _adaptive_prediction(self: nn.AdaptiveLogSoftmaxWithLoss, input: Tensor) -> Tensor:  # noqa: A002
    return self.log_prob(input).argmax(dim=1)


_REPLACEMENTS: dict[tuple[Any, str], Callable[..., Any]] = {
    (transformer, "_detect_is_causal_mask"): _is_causal,
    (nn.AdaptiveLogSoftmaxWithLoss, "forward"): _adaptive_log_softmax,
    (nn.AdaptiveLogSoftmaxWithLoss, "predict"): _adaptive_prediction,
}
"""By the module or class of torch and the name in it."""


def _gaussian_nll_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Without the look for negative variances."""
    spread = var if isinstance(var, Tensor) else torch.full_like(input, var)
    if spread.dim() == input.dim() - 1:
        spread = spread.unsqueeze(-1)
    # torch raises them to eps behind the gradient's back.
    spread = stop_gradient(spread.clamp(min=eps) - spread) + spread
    loss: Tensor = 0.5 * (spread.log() + (input - target) ** 2 / spread)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


VALUE_BRANCHES: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.gaussian_nll_loss: _gaussian_nll_loss,
}
"""By the function of torch: what is traced in its place."""
