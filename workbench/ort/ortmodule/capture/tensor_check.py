"""Refuses tensors that ONNX Runtime does not support, before anything is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.layout import Layout


def check_tensors(arguments: Sequence[torch.Tensor], layout: Layout) -> None:
    """Check the tensors of a call, and the parameters and buffers of the module.

    Raises:
        UntrainableError: one is not on the CPU, not a plain array of numbers in memory, or complex;
            or the module is one of bfloat16.
    """
    _refuse_bfloat16_module(layout)
    for what, tensor in _named(arguments, layout):
        if tensor.device.type != "cpu":
            raise UntrainableError(
                f"ORTModule trains on the CPU but {what} is on {tensor.device}. "
                "Give it tensors and a module that are on the CPU."
            )
        if tensor.layout is not torch.strided or tensor.is_quantized:
            kind = "quantized" if tensor.is_quantized else str(tensor.layout)
            raise UntrainableError(
                f"ORTModule takes dense tensors but {what} is {kind}. Call to_dense() or "
                "dequantize() before the module, or train this one with PyTorch."
            )
        if tensor.is_complex():
            raise UntrainableError(
                f"ORTModule takes real numbers but {what} is of {tensor.dtype}, which ONNX Runtime "
                "does not compute with. Pass its real and imaginary parts, torch.view_as_real(x), "
                "or train this one with PyTorch."
            )


def _refuse_bfloat16_module(layout: Layout) -> None:
    """Raise where all parameters are bfloat16, as DeepSpeed and fully_shard make them."""
    parameters = {name: registry[key] for name, (registry, key) in layout.parameters.items()}
    if parameters and all(each.dtype is torch.bfloat16 for each in parameters.values()):
        name = next(iter(parameters))
        raise UntrainableError(
            f"ORTModule takes a module in float32 but {name!r} and all other parameters of this "
            "one are bfloat16, for which ONNX Runtime has no gradients on the CPU. Call float() on "
            "the module, and call it under torch.autocast. That takes the place of bfloat16(), "
            "fully_shard's MixedPrecisionPolicy(param_dtype=torch.bfloat16) and DeepSpeed's bf16."
        )


def _named(arguments: Sequence[torch.Tensor], layout: Layout) -> Iterator[tuple[str, torch.Tensor]]:
    for place, tensor in enumerate(arguments):
        yield f"tensor {place + 1} among the arguments", tensor
    for name, (registry, key) in {**layout.buffers, **layout.parameters}.items():
        yield repr(name), registry[key]
