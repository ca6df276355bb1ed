"""Multiply-adds of a linear layer, a convolution or multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench.specs import elements_of_row

if TYPE_CHECKING:
    import torch


@contextmanager
def noted_key_lengths(modules: Mapping[str, torch.nn.Module]) -> Iterator[dict[str, int]]:
    """The number of keys of each `nn.MultiheadAttention` that runs meanwhile, by its name."""
    from torch import nn

    found: dict[str, int] = {}
    hooks = [
        module.register_forward_pre_hook(_note_keys(name, found), with_kwargs=True)
        for name, module in modules.items()
        if isinstance(module, nn.MultiheadAttention)
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _note_keys(name: str, found: dict[str, int]) -> Callable[..., None]:
    def note(module: torch.nn.MultiheadAttention, inputs: Any, further: dict[str, Any]) -> None:
        key = inputs[1] if len(inputs) > 1 else further["key"]
        found[name] = key.shape[1 if module.batch_first and key.ndim == 3 else 0]

    return note


def multiply_adds(
    layer: torch.nn.Module, output_shape: Sequence[int | str] | None, keys: int | None = None
) -> int | None:
    """Multiply-adds for one row of the batch; None for other layers, or if a size is not known.

    Each output element takes as many as a row of the weight has elements: in_features of a linear
    layer, channels by group times the kernel of a convolution. In a transposed convolution each
    input element does. Multi-head attention has those of its four linear layers, and those of the
    scores and of their products with the values.

    Args:
        layer: the layer.
        output_shape: of its first output.
        keys: number of keys of an attention, see `noted_key_lengths`.
    """
    from torch import nn

    if isinstance(layer, nn.MultiheadAttention):
        return _of_attention(layer, output_shape, keys)
    if isinstance(layer, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d):
        elements = _input_elements(layer, output_shape or ())
    elif isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
        elements = elements_of_row(output_shape)
    else:
        return None
    return None if elements is None else elements * math.prod(layer.weight.shape[1:])


def _of_attention(
    layer: torch.nn.MultiheadAttention, output_shape: Sequence[int | str] | None, keys: int | None
) -> int | None:
    elements = elements_of_row(output_shape)
    if elements is None or keys is None:
        return None
    width: int = layer.embed_dim
    projections: int = elements * 2 * width + keys * width * (layer.kdim + layer.vdim)
    attended: int = keys + (layer.bias_k is not None) + layer.add_zero_attn
    return projections + 2 * elements * attended


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
