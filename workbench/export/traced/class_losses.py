"""Losses whose target is a class, in operators that every exporter supports.

The exporter of torch writes them as one node without smoothing and probabilities, and whose
gradient ONNX Runtime does not build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def cross_entropy(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`torch.nn.functional.cross_entropy`"""
    reduction = _reduction(size_average, reduce, reduction)
    if input.ndim == 1:
        loss = cross_entropy(
            input[None], target[None], weight, None, ignore_index, None, "none", label_smoothing
        )
        rows = loss.new_ones(1) if target.is_floating_point() else None
        return _unbatched(loss, target, weight, ignore_index, reduction, rows)
    logarithms = _uncast(input.log_softmax(1))
    even = label_smoothing / input.shape[1]
    along = None if weight is None else weight.reshape(-1, *(1 for _ in input.shape[2:]))
    if target.is_floating_point():
        mass = target * (1 - label_smoothing) + even if label_smoothing else target
        values = -(logarithms * (mass if along is None else mass * along)).sum(1)
        return values if reduction == "none" else getattr(values, reduction)()
    if not label_smoothing:
        return nll_loss(logarithms, target, weight, ignore_index=ignore_index, reduction=reduction)
    hard = nll_loss(logarithms, target, weight, ignore_index=ignore_index, reduction="none")
    spread = -(logarithms if along is None else logarithms * along).sum(1)
    ignored = target == ignore_index
    values = (1 - label_smoothing) * hard + even * spread.masked_fill(ignored, 0.0)
    return _reduced(values, _weights(target, weight, ignore_index, values), reduction)


def nll_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`torch.nn.functional.nll_loss`"""
    reduction = _reduction(size_average, reduce, reduction)
    if input.ndim == 1:
        loss = nll_loss(
            input[None], target[None], weight, ignore_index=ignore_index, reduction="none"
        )
        return _unbatched(loss, target, weight, ignore_index, reduction, None)
    input = _uncast(input)  # noqa: A001
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    values = -input.gather(1, safe.unsqueeze(1)).squeeze(1)
    weights = _weights(target, weight, ignore_index, values)
    values = (values if weight is None else values * weights).masked_fill(ignored, 0.0)
    return _reduced(values, weights, reduction)


def _uncast(values: Tensor) -> Tensor:
    """In float32, as under autocast, which computes `nll_loss` in float32."""
    import torch

    return values.float() if torch.is_autocast_enabled("cpu") else values


def _weights(target: Tensor, weight: Tensor | None, ignore_index: int, like: Tensor) -> Tensor:
    """Weight of each label: that of its class, and 0 where it is ignored."""
    ignored = target == ignore_index
    if weight is None:
        return (~ignored).to(like.dtype)
    return weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)


def _reduced(values: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return values
    return values.sum() if reduction == "sum" else values.sum() / weights.sum()


def _unbatched(
    values: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    weights: Tensor | None,
) -> Tensor:
    if reduction == "none":
        return values[0]
    if weights is None:
        weights = _weights(target[None], weight, ignore_index, values)
    return _reduced(values, weights, reduction)


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the two deprecated arguments select, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"
