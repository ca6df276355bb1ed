"""Matrix functions as products, which can be exported and trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_HALVINGS = 6
_TERMS = 12
"""Number of halvings and of terms of the series, for matrices with a norm up to 100."""


def _matrix_exp(input: Tensor) -> Tensor:  # noqa: A002
    """The exponential of square matrices, (..., n, n), by its series and squaring.

    The exponential minus the identity is squared, to avoid loss of precision.
    """
    small = input * 2.0**-_HALVINGS
    made = small / _TERMS
    for order in range(_TERMS - 1, 0, -1):
        made = (small + small @ made) / order
    for _ in range(_HALVINGS):
        made = 2.0 * made + made @ made
    return made + torch.eye(input.shape[-1], dtype=input.dtype, device=input.device)


def _householder_product(input: Tensor, tau: Tensor) -> Tensor:  # noqa: A002
    """The first k columns of the product of k reflections, for (..., n, k) and (..., k).

    It is I - V T V' with an upper triangular T, computed recursively from those of both halves
    of the reflections, all pairs at once.
    """
    count, reflections = input.shape[-2:]
    rows = torch.arange(count, device=input.device).unsqueeze(1)
    columns = torch.arange(reflections, device=input.device)
    vectors = torch.where(rows > columns, input, 0.0) + (rows == columns).to(input.dtype)
    size = 1
    while size < reflections:
        size *= 2
    wide = torch.nn.functional.pad(vectors, (0, size - reflections))
    factor = torch.nn.functional.pad(tau, (0, size - reflections))[..., None, None]
    lead = wide.shape[:-2]
    width = 1
    while width < size:
        halves = wide.reshape(*lead, count, size // (2 * width), 2, width).movedim(-4, -2)
        pairs = factor.reshape(*lead, size // (2 * width), 2, width, width)
        first, second = pairs[..., 0, :, :], pairs[..., 1, :, :]
        between = halves[..., 0, :, :].transpose(-1, -2) @ halves[..., 1, :, :]
        upper = torch.cat([first, -first @ between @ second], -1)
        lower = torch.cat([torch.zeros_like(second), second], -1)
        factor = torch.cat([upper, lower], -2)
        width *= 2
    product = wide @ (factor[..., 0, :, :] @ wide.transpose(-1, -2)[..., :reflections])
    return torch.eye(count, dtype=input.dtype, device=input.device)[:, :reflections] - product


MATRIX_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.matrix_exp: _matrix_exp,
    torch.linalg.matrix_exp: _matrix_exp,
    Tensor.matrix_exp: _matrix_exp,
    torch.linalg.householder_product: _householder_product,
    torch.orgqr: _householder_product,
}
"""Function of torch -> its replacement in the trace."""
