"""Checks that the targets of a dataset fit the losses and the model's outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from workbench.data.rows import refuse_not_finite
from workbench.errors import ConfigError, DataError, LossFitError
from workbench.losses.class_axis import has_classes_last
from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.losses.loss_outputs import outputs_read
from workbench.models import Model, TensorSpec

Shape = tuple[int | str, ...]


def check_targets(
    model: Model, losses: Sequence[Loss], targets: Sequence[np.ndarray], where: str
) -> None:
    """Check the targets of one split against their losses and the outputs that these use.

    Targets of custom loss functions are only checked for NaN and infinity.

    Args:
        where: name of the split in messages.

    Raises:
        ConfigError: an output does not exist, or an option does not fit it.
        DataError: the number of targets does not fit, one is not finite, or has a shape that fits
            no loss of the model's output.
        LossFitError: the output, or a dtype or a value of the targets, does not fit its loss.
    """
    read = outputs_read(losses, [spec.name for spec in model.outputs])
    alone = len(losses) == 1 and losses[0].custom
    if len(targets) != len(losses) and not alone:
        raise DataError(
            f"The number of targets of dataset {where} is {len(targets)}, but the number of losses "
            f"is {len(losses)}: pass one target for each loss, as a tuple of arrays."
        )
    for target in targets:
        refuse_not_finite(target, f"The target of dataset {where}")
    if alone:
        return
    for loss, (index, *_), target in zip(losses, read, targets, strict=True):
        output = model.outputs[index]
        if loss.custom:
            continue
        if loss.name in CLASS_LOSSES:
            _check_classes(model, loss, output, target, where)
        else:
            _check_values(loss, output, target, where)


def are_numbers(model: Model, target: np.ndarray) -> bool:
    """Whether a target has numbers for the model's first output, as mse compares: neither classes
    nor 0 and 1 for yes and no."""
    if target.dtype != np.float32 or not model.outputs or np.isin(target, (0, 1)).all():
        return False
    shape = model.outputs[0].shape
    return fits(shape, target) or shape[1:] == (1,)


def fits(shape: Shape, array: np.ndarray) -> bool:
    """Whether rows of `array` fit a tensor of `shape`; a dynamic axis accepts any size."""
    return len(shape) == array.ndim and all(
        isinstance(size, str) or size == actual
        for size, actual in zip(shape[1:], array.shape[1:], strict=True)
    )


def shape_text(shape: Shape) -> str:
    """Format a shape for messages."""
    return "(" + ", ".join(str(size) for size in shape) + ")"


def row_text(array: np.ndarray) -> str:
    """Format the shape of a batch of `array` for messages."""
    return shape_text(("batch", *array.shape[1:]))


def _check_values(loss: Loss, output: TensorSpec, target: np.ndarray, where: str) -> None:
    if target.dtype != np.float32:
        numbers = (
            ", or give numbers, as of y.astype('float32'), or y.float() of a tensor; of a file, "
            "target_dtype='float32'"
        )
        remedy = numbers if fits(output.shape, target) else ""
        raise LossFitError(
            f"Loss {loss.name} needs a float32 target but dataset {where} has {target.dtype}; "
            f"use cross_entropy for class indices{remedy}."
        )
    if not fits(output.shape, target):
        raise DataError(
            f"Loss {loss.name} compares output {output.name!r} of shape "
            f"{shape_text(output.shape)} with a target of the same shape, but targets of dataset "
            f"{where} have {row_text(target)}; {_shape_remedy(output.shape, target)}."
        )
    for option in ("weight", "pos_weight"):
        given = getattr(loss, option)
        if given is not None and not _broadcasts(np.shape(given), target.shape[1:]):
            raise ConfigError(
                [
                    f"loss {loss.name}: {option} of shape {np.shape(given)} does not broadcast to "
                    f"rows of shape {target.shape[1:]}."
                ]
            )
    if loss.name == "bce_with_logits":
        _check_unit_range("Loss bce_with_logits needs targets from 0 to 1", target, where)


def _broadcasts(shape: tuple[int, ...], row_shape: tuple[int, ...]) -> bool:
    """Whether `shape` broadcasts to `row_shape`."""
    return len(shape) <= len(row_shape) and all(
        size in (1, of_row)
        for size, of_row in zip(reversed(shape), reversed(row_shape), strict=False)
    )


def _check_classes(
    model: Model, loss: Loss, output: TensorSpec, target: np.ndarray, where: str
) -> None:
    if len(output.shape) < 2:
        raise LossFitError(
            f"Loss {loss.name} needs an output with a class axis, but {output.name!r} of model "
            f"{model.name!r} has shape {shape_text(output.shape)}."
        )
    if output.shape[1] == 1:
        raise LossFitError(
            f"Loss {loss.name} of one class is always 0, and output {output.name!r} of model "
            f"{model.name!r} has one; use mse or l1 for numbers, or bce_with_logits for yes or no."
        )
    if _is_distribution(loss, output, target):
        needs = "class indices, or class probabilities from 0 to 1 (mse and l1 take any number)"
        _check_unit_range(f"Loss {loss.name} needs {needs}", target, where)
        _check_weights(loss, output, output.shape[1])
        if loss.ignore_index >= 0:
            raise ConfigError(
                [
                    f"loss {loss.name}: ignore_index={loss.ignore_index} is a class, but the "
                    f"target of dataset {where} contains class probabilities. Omit it."
                ]
            )
        return
    if target.dtype != np.int64:
        raise LossFitError(
            f"Loss {loss.name} needs class indices (int64) but the target of dataset {where} "
            f"is {target.dtype}; give integers, as of y.astype('int64'), or y.long() of a tensor. "
            "For numbers use mse or l1, with as many outputs."
        )
    axis = len(output.shape) - 1 if has_classes_last(output.shape, target.shape) else 1
    if not fits((*output.shape[:axis], *output.shape[axis + 1 :]), target):
        raise DataError(
            f"Loss {loss.name} compares output {output.name!r} of shape "
            f"{shape_text(output.shape)} with class indices, but targets of dataset {where} have "
            f"{row_text(target)}; give one class index per prediction."
        )
    count = output.shape[axis]
    _check_weights(loss, output, count)
    if isinstance(count, int):
        _check_labels(model, loss, count, target, where)


def _is_distribution(loss: Loss, output: TensorSpec, target: np.ndarray) -> bool:
    """Whether the target contains class probabilities, with the classes on axis 1."""
    return (
        loss.name == "cross_entropy" and target.dtype == np.float32 and fits(output.shape, target)
    )


def _check_unit_range(needs: str, target: np.ndarray, where: str) -> None:
    outside = (target < 0) | (target > 1)
    if outside.any():
        row = int(np.argwhere(outside)[0][0])
        raise LossFitError(
            f"{needs}, but dataset {where} contains {target[outside][0]:g}, in row {row} of this "
            "split."
        )


def _check_weights(loss: Loss, output: TensorSpec, count: int | str) -> None:
    if loss.weight is not None and isinstance(count, int) and len(loss.weight) != count:
        raise ConfigError(
            [
                f"loss {loss.name}: weight has {len(loss.weight)} numbers, but output "
                f"{output.name!r} has {count} classes."
            ]
        )


def _check_labels(model: Model, loss: Loss, count: int, target: np.ndarray, where: str) -> None:
    labels = target[target != loss.ignore_index]
    low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
    if low < 0 or high >= count:
        bad = low if low < 0 else high
        wrong = int(((labels < 0) | (labels >= count)).sum())
        raise DataError(
            f"Label {bad} of dataset {where} is out of range: model {model.name!r} has {count} "
            f"classes, 0 to {count - 1}. Correct it, or give the model more outputs; out of range: "
            f"{wrong:,} of {labels.size:,} labels."
        )


def _shape_remedy(shape: Sequence[int | str], target: np.ndarray) -> str:
    """What to do about targets of another shape than an output of `shape`, batch first."""
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    if len(sizes) == len(shape) - 1 and math.prod(sizes) != math.prod(target.shape[1:]):
        return "give targets of that shape, or a model with an output of theirs"
    return "reshape the target, for example with target.reshape(len(target), -1)"
