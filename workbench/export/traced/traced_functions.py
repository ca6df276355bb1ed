"""Replacements of functions of torch while a module is traced for export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointFunction

from workbench.errors import UntrainableError
from workbench.export.autograd.function_call import function_applied, function_name
from workbench.export.traced.class_losses import cross_entropy, nll_loss
from workbench.export.traced.embedding_bag import embedding_bag
from workbench.export.traced.fake_quantization import FAKE_QUANTIZATION
from workbench.export.traced.instance_norm import instance_norm
from workbench.export.traced.matrix_functions import MATRIX_FUNCTIONS
from workbench.export.traced.multi_head_attention import multi_head_attention_forward
from workbench.export.traced.random_functions import RANDOM_FUNCTIONS
from workbench.export.traced.recurrent_layers import RECURRENT_LAYERS
from workbench.export.traced.stop_gradient import stop_gradient
from workbench.export.traced.value_branches import VALUE_BRANCHES

_DATA = Tensor.data.__get__  # type: ignore[attr-defined]
_OF_AUTOGRAD: dict[Callable[..., Any], str] = {
    Tensor.register_hook: "the gradient of a tensor by register_hook",
    Tensor.retain_grad: "what a tensor keeps by retain_grad",
    Tensor.register_post_accumulate_grad_hook: "a tensor by register_post_accumulate_grad_hook",
}
"""Functions that act when a gradient is computed; a graph has no such tensor."""

_DETACHING = {Tensor.detach, torch.detach, _DATA}


class TracedFunctions(TorchFunctionMode):
    """Traces functions that the exporters would lose, or that would fix the batch size.

    - Where PyTorch stops the gradient, by `detach` or in a region without gradients, the trace has
      a call of `stop_gradient`; the exporters ignore gradients.
    - `Tensor.data` is traced as `detach`, since the tensor would become a constant.
    - `kron` and `take_along_dim` are traced as their parts. Written in C++, they read
      sizes as numbers, and torch.export treats such a size as fixed.
    - `hstack`, `vstack`, `dstack` and `column_stack` are traced as joins, where the exporter would
      write a loop over tensors.
    - `lstm`, `gru` and `rnn` are traced as one operator a layer and direction, an `lstm` with a
      projection step by step.
    - `instance_norm` updates its running statistics by operations that are traced.
    - `multi_head_attention_forward` is traced without the copies that change the order of rows.
    - `cross_entropy` and `nll_loss` are traced as lookups of log probabilities.
    - `gumbel_softmax`, whose `detach` lies within, and other random or matrix functions without an
      ONNX operator are traced as their parts.
    - Fake quantization is traced as its parts, with the gradient of PyTorch.
    - `embedding_bag` is traced as lookups and reductions, since it would become a loop.

    Args:
        training: refuse what stops the gradient in the trace alone.
        lost: list for operations on tensors that a graph cannot represent.
    """

    def __init__(self, *, training: bool = False, lost: list[str] | None = None) -> None:
        super().__init__()
        self._lost = lost
        self._training = training

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in _OF_AUTOGRAD and self._training and self._lost is not None:
            self._lost.append(_OF_AUTOGRAD[func])
        made = _MADE_OF.get(func, func)(*args, **(kwargs or {}))
        stops = func in _DETACHING or (
            not torch.is_grad_enabled() and any(_needs_gradient(value) for value in args)
        )
        if stops and self._training:
            _refuse_unseen_backward()
        return _stopped(made) if stops else made


def _stopped(made: Any) -> Any:
    if isinstance(made, tuple | list):
        return type(made)(_stopped(value) for value in made)
    smooth = isinstance(made, Tensor) and made.is_floating_point()
    return stop_gradient(made) if smooth else made


def _refuse_unseen_backward() -> None:
    """Raise an UntrainableError within the forward of an autograd function that is not replaced.

    Gradients are turned off there, and its backward is not traced.
    """
    function = function_applied()
    if function is None:
        return
    if function is CheckpointFunction:
        raise UntrainableError(
            "checkpoint(use_reentrant=True) computes its gradient where no export sees it. "
            "Call torch.utils.checkpoint.checkpoint with use_reentrant=False."
        )
    raise UntrainableError(
        "The export does not see the backward of the autograd function "
        f"{function_name(function)}. Define its class once, outside of the forward pass; if it is "
        "torch's own, replace the layer that uses it."
    )


def _needs_gradient(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(_needs_gradient(part) for part in value)
    return isinstance(value, Tensor) and value.requires_grad


def _kron(input: Tensor, other: Tensor) -> Tensor:  # noqa: A002
    rank = max(input.ndim, other.ndim)
    left, right = (
        value.reshape((1,) * (rank - value.ndim) + tuple(value.shape)) for value in (input, other)
    )
    apart = tuple(size for axis in left.shape for size in (axis, 1))
    along = tuple(size for axis in right.shape for size in (1, axis))
    sizes = [a * b for a, b in zip(left.shape, right.shape, strict=True)]
    return (left.reshape(apart) * right.reshape(along)).reshape(sizes)


def _take_along_dim(
    input: Tensor,  # noqa: A002
    indices: Tensor,
    dim: int | None = None,
) -> Tensor:
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    axis = dim % input.ndim
    sizes = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
        *(value.shape[:axis] + value.shape[axis + 1 :] for value in (input, indices))
    )
    spread = [
        value.expand(*sizes[:axis], value.shape[axis], *sizes[axis:]) for value in (input, indices)
    ]
    return spread[0].gather(axis, spread[1])


def _hstack(tensors: Sequence[Tensor]) -> Tensor:
    vectors = [value.reshape(-1) if value.ndim < 2 else value for value in tensors]
    return torch.cat(vectors, dim=min(1, vectors[0].ndim - 1))


def _vstack(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([value.reshape(1, -1) if value.ndim < 2 else value for value in tensors])


def _column_stack(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat(
        [value.reshape(-1, 1) if value.ndim < 2 else value for value in tensors], dim=1
    )


def _dstack(tensors: Sequence[Tensor]) -> Tensor:
    planes = [value.reshape(1, -1) if value.ndim < 2 else value for value in tensors]
    return torch.cat([value.unsqueeze(2) if value.ndim < 3 else value for value in planes], dim=2)


_MADE_OF: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.cross_entropy: cross_entropy,
    functional.embedding_bag: embedding_bag,
    functional.instance_norm: instance_norm,
    functional.multi_head_attention_forward: multi_head_attention_forward,
    functional.nll_loss: nll_loss,
    **FAKE_QUANTIZATION,
    **MATRIX_FUNCTIONS,
    **RANDOM_FUNCTIONS,
    **RECURRENT_LAYERS,
    **VALUE_BRANCHES,
    torch.kron: _kron,
    Tensor.kron: _kron,
    _DATA: torch.detach,
    torch.hstack: _hstack,
    torch.vstack: _vstack,
    torch.row_stack: _vstack,
    torch.dstack: _dstack,
    torch.column_stack: _column_stack,
    torch.take_along_dim: _take_along_dim,
    Tensor.take_along_dim: _take_along_dim,
}
