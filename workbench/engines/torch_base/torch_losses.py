"""The losses of the engines that run on torch: outputs of the model against the targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.losses.class_axis import has_classes_last
from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.losses.loss_functions import call_arguments, checked_scalar, load_function
from workbench.losses.loss_list import as_losses
from workbench.losses.loss_outputs import outputs_read
from workbench.modules.flattened_outputs import flattened_outputs

if TYPE_CHECKING:
    from torch import Tensor

Compare = Callable[["Tensor", "Tensor"], "Tensor"]
"""Takes output and target; returns a scalar."""


def all_outputs(outputs: Any) -> tuple[Tensor, ...]:
    """Every tensor in the result of a module, in order.

    Raises:
        DataError: there is none.
    """
    found = tuple(output.tensor for output in flattened_outputs(outputs))
    if not found:
        raise DataError(
            f"The model returned {type(outputs).__name__} without a tensor; the loss needs one. "
            "Let forward return a tensor, a tuple or a dict of tensors."
        )
    return found


class TotalLoss:
    """The sum of several losses, each of its own outputs and target."""

    def __init__(
        self, losses: Sequence[Loss], outputs: Sequence[str], model_folder: Path | None = None
    ) -> None:
        """Load the losses that are user functions.

        Args:
            losses: at least one.
            outputs: names of the model's outputs.
            model_folder: of the saved model, with its loss functions.

        Raises:
            ConfigError: there is no such output.
        """
        self._terms = [
            (indices, _own_loss(loss, model_folder) if loss.custom else loss_function(loss))
            for loss, indices in zip(losses, outputs_read(losses, outputs), strict=True)
        ]
        self.factors: Sequence[float] | None = None
        """Factor of each term in the sum, as for a part of a batch; None: 1."""
        self._own_alone = len(losses) == 1 and losses[0].custom

    def __call__(self, outputs: Any, targets: Sequence[Tensor]) -> Tensor:
        """The loss of what a module returned, a scalar.

        Raises:
            DataError: the outputs do not fit the targets.
            ConfigError: a function returned no scalar.
        """
        values = self.terms(outputs, targets)
        if self.factors is not None:
            # A term without labels is NaN.
            values = [
                factor * value if factor else 0 * self.read_first(outputs).sum()
                for factor, value in zip(self.factors, values, strict=True)
            ]
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total

    def terms(self, outputs: Any, targets: Sequence[Tensor]) -> list[Tensor]:
        """Contribution of each loss to the sum, a scalar each; raises as the call does."""
        found = all_outputs(outputs)
        if self._own_alone:
            ((indices, compare),) = self._terms
            return [compare(*call_arguments([found[index] for index in indices], targets))]
        return [
            compare(found[index], target)
            for ((index,), compare), target in zip(self._terms, targets, strict=True)
        ]

    def read_first(self, outputs: Any) -> Tensor:
        """The output that the first loss reads."""
        return all_outputs(outputs)[self._terms[0][0][0]]


def loss_function(loss: str | Loss) -> Compare:
    """One loss as a function of (output, target), a scalar float32.

    As in `torch.nn.functional` with the mean as reduction, times the loss's factor. Classes are on
    axis 1 as in torch; an output (batch, ..., C) of rank 3 or more whose other axes are those of
    the target has its classes last, and both are flattened to (-1, C) and (-1,).
    """
    (chosen,) = as_losses(loss)
    compare = _class_loss(chosen) if chosen.name in CLASS_LOSSES else _elementwise(chosen)
    return _times(chosen.factor, compare)


def _own_loss(loss: Loss, model_folder: Path | None) -> Callable[[Any, Any], Tensor]:
    function = load_function(loss, model_folder)
    return _times(
        loss.factor, lambda output, target: checked_scalar(loss, function(output, target))
    )


def _times(factor: float, compare: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    if factor == 1:
        return compare
    return lambda output, target: factor * compare(output, target)


def _class_loss(loss: Loss) -> Compare:
    import torch
    from torch.nn import functional

    weight = None if loss.weight is None else torch.tensor(loss.weight)
    if loss.name == "nll":
        reduce = partial(functional.nll_loss, weight=weight, ignore_index=loss.ignore_index)
    else:
        reduce = partial(
            functional.cross_entropy,
            weight=weight,
            ignore_index=loss.ignore_index,
            label_smoothing=loss.label_smoothing,
        )

    def compare(output: Tensor, target: Tensor) -> Tensor:
        if has_classes_last(output.shape, target.shape):
            return reduce(output.flatten(0, -2), target.flatten())
        return reduce(output, target)

    return compare


def _elementwise(loss: Loss) -> Compare:
    import torch
    from torch.nn import functional

    elementwise: dict[str, Compare] = {
        "mse": functional.mse_loss,
        "l1": functional.l1_loss,
        "smooth_l1": partial(functional.smooth_l1_loss, beta=loss.beta),
        "bce_with_logits": partial(
            functional.binary_cross_entropy_with_logits,
            weight=None if loss.weight is None else torch.tensor(loss.weight),
            pos_weight=None if loss.pos_weight is None else torch.tensor(loss.pos_weight),
        ),
    }
    reduce = elementwise[loss.name]

    def compare(output: Tensor, target: Tensor) -> Tensor:
        # torch broadcasts unequal shapes, which would compute another loss than intended.
        if output.shape != target.shape:
            raise DataError(
                f"Loss {loss.name} needs output and target of one shape, but the output is "
                f"{tuple(output.shape)} and the target {tuple(target.shape)}."
            )
        return reduce(output, target)

    return compare
