"""Names, shapes and dtypes of targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.losses.loss import CLASS_LOSSES, Loss
from workbench.models import TensorSpec


def target_names(count: int) -> tuple[str, ...]:
    """Names of the graph inputs for `count` targets."""
    return ("target",) if count == 1 else tuple(f"target_{index}" for index in range(count))


def target_specs(targets: Sequence[np.ndarray]) -> tuple[TensorSpec, ...]:
    """Specs of batches of `targets`, each (rows, ...)."""
    return tuple(
        TensorSpec(name, ("batch", *array.shape[1:]), array.dtype.name)
        for name, array in zip(target_names(len(targets)), targets, strict=True)
    )


def target_spec(
    loss: Loss, output_shape: Sequence[int | str], row_shape: Sequence[int], name: str = "target"
) -> TensorSpec:
    """The spec of a loss's target with the given row shape.

    The dtype is int64 for class indices, else float32. A target of cross_entropy with the output's
    shape contains class probabilities.

    Args:
        output_shape: shape of the output that the loss uses, with the batch axis.
    """
    numbers = loss.name in CLASS_LOSSES and not is_row_shape(output_shape[1:], row_shape)
    return TensorSpec(name, ("batch", *row_shape), "int64" if numbers else "float32")


def is_row_shape(axes: Sequence[int | str], row_shape: Sequence[int | str]) -> bool:
    """Whether `axes` is compatible with `row_shape`; an unknown size is a name or 0."""
    return len(axes) == len(row_shape) and all(
        isinstance(axis, str) or isinstance(size, str) or axis in (0, size)
        for axis, size in zip(axes, row_shape, strict=True)
    )
