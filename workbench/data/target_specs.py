"""Names, shapes and dtypes of targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.models import TensorSpec


def target_names(count: int) -> tuple[str, ...]:
    """What the inputs of a graph for `count` targets are called."""
    return ("target",) if count == 1 else tuple(f"target_{index}" for index in range(count))


def target_specs(targets: Sequence[np.ndarray]) -> tuple[TensorSpec, ...]:
    """The targets of batches of a dataset, each array of which is (rows, ...)."""
    return tuple(
        TensorSpec(name, ("batch", *array.shape[1:]), array.dtype.name)
        for name, array in zip(target_names(len(targets)), targets, strict=True)
    )


def target_spec(
    loss: Loss, output_shape: Sequence[int | str], row_shape: Sequence[int], name: str = "target"
) -> TensorSpec:
    """The target of a loss, of which only the shape of a row is known.

    Its dtype is int64 for class numbers, else float32. A target of cross_entropy that has the
    output's own shape holds probabilities.

    Args:
        output_shape: of the output that the loss reads, the batch included.
    """
    numbers = loss.name in CLASS_LOSSES and not is_row_shape(output_shape[1:], row_shape)
    return TensorSpec(name, ("batch", *row_shape), "int64" if numbers else "float32")


def is_row_shape(axes: Sequence[int | str], row_shape: Sequence[int | str]) -> bool:
    """Whether a row of `row_shape` may have `axes`; one of unknown size is named, or 0."""
    return len(axes) == len(row_shape) and all(
        isinstance(axis, str) or isinstance(size, str) or axis in (0, size)
        for axis, size in zip(axes, row_shape, strict=True)
    )
