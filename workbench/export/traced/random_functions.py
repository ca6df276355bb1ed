"""Random functions of torch, decomposed into operations that the exporters support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from workbench.export.traced.stop_gradient import stop_gradient

_SATURATION = -1.7580993408473766
"""Lower limit of SELU, by which AlphaDropout replaces dropped values."""


def _gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,  # noqa: ARG001
    dim: int = -1,
) -> Tensor:
    """With `hard` the gradient is that of the soft result, as torch's own has by `detach`."""
    # torch draws from the exponential distribution: the logarithm of a uniform number, negated.
    uniform = torch.rand_like(logits).clamp(min=torch.finfo(logits.dtype).tiny)
    soft: Tensor = ((logits - torch.log(-torch.log(uniform))) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = functional.one_hot(soft.argmax(dim), soft.shape[dim]).to(soft.dtype).movedim(-1, dim)
    gap: Tensor = stop_gradient(chosen - soft)
    return gap + soft


def _uniform_(
    input: Tensor,  # noqa: A002
    low: Tensor | float = 0.0,
    to: Tensor | float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Bounds may be tensors, as in NEFTune: torch's own reads them as numbers."""
    if generator is not None:
        return input.uniform_(low, to, generator=generator)  # type: ignore[arg-type]
    return input.copy_(stop_gradient(torch.rand_like(input) * (to - low) + low))


def _rrelu(
    input: Tensor,  # noqa: A002
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    slope: Tensor | float = (lower + upper) / 2
    if training:
        slope = torch.rand_like(input) * (upper - lower) + lower
    return _result(input, torch.where(input > 0, input, input * slope), inplace)


def _torch_rrelu(
    input: Tensor,  # noqa: A002
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: torch.Generator | None = None,  # noqa: ARG001
) -> Tensor:
    return _rrelu(input, lower, upper, training)


def _torch_rrelu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: A002
    return input.copy_(_torch_rrelu(input, *args, **kwargs))


def _alpha_dropout(
    input: Tensor,  # noqa: A002
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    if not training or p == 0:
        return input
    return _result(input, _dropped(input, torch.full_like(input, 1 - p), p), inplace)


def _feature_alpha_dropout(
    input: Tensor,  # noqa: A002
    p: float = 0.5,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    if not training or p == 0:
        return input
    kept = torch.full_like(input.flatten(2)[..., 0] if input.ndim > 2 else input, 1 - p)
    kept = kept.reshape(*kept.shape, *(1 for _ in range(input.ndim - 2)))
    return _result(input, _dropped(input, kept, p), inplace)


def _dropped(value: Tensor, kept: Tensor, p: float) -> Tensor:
    """Drops where a draw of the probabilities `kept` is 0, and keeps mean and variance."""
    if p == 1:
        return value * 0.0
    drawn = torch.bernoulli(kept)
    scale = ((_SATURATION**2 * p + 1) * (1 - p)) ** -0.5
    made = value * drawn + (1 - drawn) * _SATURATION
    scaled: Tensor = (made - _SATURATION * p) * scale
    return scaled


def _result(given: Tensor, made: Tensor, inplace: bool) -> Tensor:
    return given.copy_(made) if inplace else made


RANDOM_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.gumbel_softmax: _gumbel_softmax,
    Tensor.uniform_: _uniform_,
    functional.rrelu: _rrelu,
    torch.rrelu: _torch_rrelu,
    torch.rrelu_: _torch_rrelu_,
    functional.alpha_dropout: _alpha_dropout,
    functional.feature_alpha_dropout: _feature_alpha_dropout,
}
"""Function of torch -> its replacement in the trace."""
