"""Layers of torch that branch on values of tensors, in a form that can be exported.

A graph does the same for every batch, so a layer that branches on values cannot be exported, even
where both branches compute the same: `nn.Transformer` compares its mask with a causal one to
find a faster kernel, and `nn.AdaptiveLogSoftmaxWithLoss` leaves out the clusters that no target of
the batch is in. During an export these layers compute what is correct for any values.
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
    """Context in which layers of torch do not branch on values."""
    validated = Distribution._validate_args
    kept = [(owner, name, getattr(owner, name)) for owner, name in _REPLACEMENTS]
    # Distributions validate their parameters.
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
    """Every cluster is computed for every row; unused results of a row get no gradient.

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
"""(Module or class of torch, name in it) -> replacement."""


def _gaussian_nll_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Without the check for negative variances."""
    spread = var if isinstance(var, Tensor) else torch.full_like(input, var)
    if spread.dim() == input.dim() - 1:
        spread = spread.unsqueeze(-1)
    # torch clamps them to eps without a gradient.
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
"""Function of torch -> its replacement in the trace."""
