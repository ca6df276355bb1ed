"""`functional.embedding_bag` as lookups and reductions, which can be exported and trained.

The exporters' own form is a loop over the bags, through which no gradient passes.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from workbench.errors import UntrainableError


def embedding_bag(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,  # noqa: ARG001
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,  # noqa: ARG001
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Result of the function of that name, (bags, features), for arguments that it accepts.

    Raises:
        UntrainableError: the rows would change outside of the gradient.
    """
    if max_norm is not None or scale_grad_by_freq:
        raise UntrainableError(
            "embedding_bag with max_norm or scale_grad_by_freq changes its rows outside of the "
            "gradient, which ONNX cannot express. Leave both at their defaults."
        )
    counted = torch.ones_like(input, dtype=weight.dtype)
    if padding_idx is not None:
        counted = (input != padding_idx % weight.shape[0]).to(weight.dtype)
    rows = functional.embedding(input, weight)
    if offsets is not None:
        # (bags, places): whether a place is in the bag.
        within = _within(input, offsets, include_last_offset).to(weight.dtype) * counted
        rows, counted = rows.unsqueeze(0), within
    if mode == "max":
        return _largest(rows, counted)
    shares = counted if per_sample_weights is None else counted * per_sample_weights
    total = (shares.unsqueeze(-2) @ rows).squeeze(-2)
    if mode == "sum":
        return total
    return total / counted.sum(-1, keepdim=True).clamp(min=1.0)


def _within(places: Tensor, offsets: Tensor, include_last_offset: bool) -> Tensor:
    ends = offsets[1:]
    if include_last_offset:
        starts = offsets[:-1]
    else:
        starts = offsets
        ends = torch.cat([ends, torch.full_like(offsets[:1], places.shape[0])])
    number = torch.arange(places.shape[0], device=places.device)
    return (number >= starts.unsqueeze(1)) & (number < ends.unsqueeze(1))


def _largest(rows: Tensor, counted: Tensor) -> Tensor:
    """The largest of each bag's rows; one alone gets the gradient; zeros if empty."""
    lowest = torch.finfo(rows.dtype).min
    open_rows = torch.where(counted.unsqueeze(-1) > 0, rows, lowest)
    place = open_rows.detach().argmax(-2, keepdim=True)
    largest = open_rows.gather(-2, place).squeeze(-2)
    return torch.where(counted.sum(-1, keepdim=True) > 0, largest, 0.0)
