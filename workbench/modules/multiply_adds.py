"""Multiply-adds of a linear layer or a convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.specs import elements_of_row

if TYPE_CHECKING:
    import torch


def multiply_adds(layer: torch.nn.Module, output_shape: Sequence[int | str] | None) -> int | None:
    """Multiply-adds for one row of the batch; None for other layers, or if a size is not known.

    Each output element takes as many as a row of the weight has elements: in_features of a linear
    layer, channels by group times the kernel of a convolution. In a transposed convolution each
    input element does.
    """
    from torch import nn

    if isinstance(layer, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d):
        elements = _input_elements(layer, output_shape or ())
    elif isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
        elements = elements_of_row(output_shape)
    else:
        return None
    return None if elements is None else elements * math.prod(layer.weight.shape[1:])


def _input_elements(
    layer: torch.nn.ConvTranspose1d | torch.nn.ConvTranspose2d | torch.nn.ConvTranspose3d,
    output_shape: Sequence[int | str],
) -> int | None:
    """Elements of one row of the input that gives this output; None if a size is not known."""
    kernel = layer.kernel_size
    sizes = [size for size in output_shape[-len(kernel) :] if isinstance(size, int)]
    if len(sizes) < len(kernel):
        return None
    total = layer.in_channels
    for axis, size in enumerate(sizes):
        reach = layer.dilation[axis] * (kernel[axis] - 1)
        total *= (size - 1 + 2 * int(layer.padding[axis]) - reach) // layer.stride[axis] + 1
    return total
