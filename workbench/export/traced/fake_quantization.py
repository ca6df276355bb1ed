"""Fake quantization, traced as its parts: torch's operators have no export with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from workbench.export.traced.stop_gradient import stop_gradient


def _per_tensor(
    input: Tensor,  # noqa: A002
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    scale = torch.as_tensor(scale, dtype=input.dtype)
    return _quantized(input, scale, torch.as_tensor(zero_point), quant_min, quant_max)


def _per_channel(
    input: Tensor,  # noqa: A002
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    shape = [1] * input.ndim
    shape[axis] = -1
    scale, zero_point = scale.reshape(shape), zero_point.reshape(shape)
    return _quantized(input, scale, zero_point, quant_min, quant_max)


def _quantized(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    """The gradient passes where nothing was clipped; scale and zero point have none."""
    scale, zero = stop_gradient(scale), zero_point.to(x.dtype)
    scaled = x * (1.0 / scale)
    # The sum is the rounded number exactly, and its gradient is that of the number.
    rounded = scaled + stop_gradient(torch.round(scaled) - scaled)
    result: Tensor = ((rounded + zero).clamp(low, high) - zero) * scale
    return result


FAKE_QUANTIZATION: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.fake_quantize_per_channel_affine: _per_channel,
    torch.fake_quantize_per_tensor_affine: _per_tensor,
}
"""What is traced in place of each function."""
