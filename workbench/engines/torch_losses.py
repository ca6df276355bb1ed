"""The losses of the engines that run on torch: first output of the model against the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor


def first_output(outputs: Any) -> Tensor:
    """The first tensor of whatever a module returned: the one that the loss is taken of.

    Raises:
        DataError: there is none.
    """
    found = _first_tensor(outputs)
    if found is None:
        raise DataError(
            f"The model returned {type(outputs).__name__} without a tensor; the loss needs one. "
            "Let forward return a tensor, a tuple or a dict of tensors."
        )
    return found


def loss_function(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss called `name` as a function of (first output, target), a scalar float32.

    `torch.nn.functional` with its defaults (mean over elements). Cross-entropy takes classes on
    axis 1 as torch does; an output (batch, ..., C) of rank 3 or more whose other axes are those
    of the target has its classes last, and both are flattened to (-1, C) and (-1,).
    """
    from torch.nn import functional

    if name == "cross_entropy":
        return _cross_entropy
    elementwise: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "mse": functional.mse_loss,
        "l1": functional.l1_loss,
        "bce_with_logits": functional.binary_cross_entropy_with_logits,
    }
    reduce = elementwise[name]

    def loss(output: Tensor, target: Tensor) -> Tensor:
        # torch broadcasts unequal shapes, which trains something else than was meant.
        if output.shape != target.shape:
            raise DataError(
                f"Loss {name} needs output and target of one shape, but the output is "
                f"{tuple(output.shape)} and the target {tuple(target.shape)}."
            )
        return reduce(output, target)

    return loss


def _cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    from torch.nn import functional

    if output.dim() >= 3 and output.shape[:-1] == target.shape:
        return functional.cross_entropy(output.flatten(0, -2), target.flatten())
    return functional.cross_entropy(output, target)


def _first_tensor(outputs: Any) -> Tensor | None:
    import torch

    if isinstance(outputs, torch.Tensor):
        return outputs
    if isinstance(outputs, Mapping):
        parts = list(outputs.values())
    elif isinstance(outputs, (list, tuple)):
        parts = list(outputs)
    else:
        return None
    for part in parts:
        found = _first_tensor(part)
        if found is not None:
            return found
    return None
