"""Calls under `torch.autocast`: exported under autocast, so that the graph casts where PyTorch
does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from workbench.errors import UntrainableError
from workbench.ort.ortmodule.capture.nested_values.structure import Structure
from workbench.ort.ortmodule.capture.nested_values.structure_tensors import dtypes_of
from workbench.ort.ortmodule.capture.preserved_buffers import preserved_buffers

if TYPE_CHECKING:
    import onnx

HALVES = frozenset({torch.bfloat16, torch.float16})

_RECURRENT = frozenset({"GRU", "LSTM", "RNN"})


def autocast_dtype() -> torch.dtype | None:
    """Autocast dtype of operations on the CPU at this moment; None: autocast is off."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def result_dtypes(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    structure: Structure,
    dtype: torch.dtype,
) -> tuple[torch.dtype, ...]:
    """The dtypes of the tensors that `module` returns under autocast, found by running it once.

    Args:
        module: unchanged afterwards, as is the generator of random numbers.
        args: of a call.
        kwargs: of the call.
        structure: that of its result.
        dtype: the autocast dtype.
    """
    with (
        torch.no_grad(),
        torch.random.fork_rng(devices=[]),
        preserved_buffers(module.buffers()),
        # Weights that were cast here, without a gradient, must not be found in the cache later.
        torch.autocast("cpu", dtype=dtype, cache_enabled=False),
    ):
        return tuple(dtypes_of(structure, module.forward(*args, **kwargs)))


def in_float32(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, in float32 if it is of a lower precision, which another layer left it in."""
    return tensor.float() if tensor.dtype in HALVES else tensor


def refuse_half_precision(tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Raise where a parameter or buffer of the module is not float32 itself.

    Raises:
        UntrainableError: names it.
    """
    for name, tensor in tensors:
        if tensor.dtype in HALVES:
            raise UntrainableError(
                f"ORTModule under torch.autocast takes a module in float32 but {name!r} is of "
                f"{tensor.dtype}. Call float() on the module, as autocast casts by itself, or call "
                "it without autocast."
            )


def refuse_what_pytorch_casts(model: onnx.ModelProto, functions: bool, dtype: torch.dtype) -> None:
    """Raise where a graph would compute in float32 what PyTorch computes in `dtype`.

    Args:
        model: exported under autocast.
        functions: whether custom autograd functions run between its segments.
        dtype: the autocast dtype.

    Raises:
        UntrainableError: names it.
    """
    recurrent = sorted(_RECURRENT.intersection(node.op_type for node in model.graph.node))
    what = [*recurrent, *(["custom torch.autograd.Functions"] if functions else [])]
    if what:
        named = " and ".join(what)
        raise UntrainableError(
            f"ORTModule does not run {named} under torch.autocast: it would compute in "
            f"float32 what PyTorch computes in {dtype}. Call the module without autocast, or train "
            "it with PyTorch."
        )
