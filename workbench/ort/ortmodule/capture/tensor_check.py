"""Refuses tensors that ONNX Runtime does not support, before anything is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.layout import Layout


def check_tensors(arguments: Sequence[torch.Tensor], layout: Layout) -> None:
    """Check the tensors of a call, and the parameters and buffers of the module.

    Raises:
        UntrainableError: one is not on the CPU, not a plain array of numbers in memory, or complex.
    """
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


def _named(arguments: Sequence[torch.Tensor], layout: Layout) -> Iterator[tuple[str, torch.Tensor]]:
    for place, tensor in enumerate(arguments):
        yield f"tensor {place + 1} among the arguments", tensor
    for name, (registry, key) in {**layout.buffers, **layout.parameters}.items():
        yield repr(name), registry[key]
