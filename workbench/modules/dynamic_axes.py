"""Dynamic axes of a model's inputs: the batch, and others that the caller names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import ModelError, nearest
from workbench.specs import TensorSpec

BATCH = "batch"
"""Name of the first axis of every input."""

DynamicAxes = Mapping[str, Mapping[int, str]]
"""Input name -> axis -> name of the dynamic axis. Axes with the same name have the same size."""


def input_shapes(
    names: Sequence[str], arrays: Sequence[np.ndarray], dynamic_axes: DynamicAxes | None
) -> list[tuple[int | str, ...]]:
    """Shapes of the inputs, with the names of dynamic axes instead of sizes.

    Raises:
        ModelError: an input or axis does not exist, an axis has fewer than 2 elements in the
            example, or axes of different sizes have the same name.
    """
    wanted = dict(dynamic_axes or {})
    for name in wanted:
        if name not in names:
            raise ModelError(f"dynamic_axes: there is no input {name!r}. {nearest(name, names)}")
    sizes: dict[str, int] = {}
    shapes = []
    for name, array in zip(names, arrays, strict=True):
        shape: list[int | str] = [BATCH, *array.shape[1:]]
        for axis, called, size in _requested(name, array, wanted.get(name, {})):
            shape[axis] = called
            if sizes.setdefault(called, size) != size:
                raise ModelError(
                    f"dynamic_axes uses the name {called!r} for axes of {sizes[called]} and {size} "
                    "elements; use different names for axes of different sizes."
                )
        shapes.append(tuple(shape))
    return shapes


def _requested(name: str, array: np.ndarray, axes: Any) -> Iterator[tuple[int, str, int]]:
    if not isinstance(axes, Mapping):
        raise ModelError(
            f"dynamic_axes[{name!r}] is {axes!r}; it must map axes to names, such as "
            '{1: "sequence"}.'
        )
    for axis, called in axes.items():
        if not isinstance(axis, int) or not 0 <= axis < array.ndim:
            raise ModelError(
                f"dynamic_axes[{name!r}] has axis {axis!r}, but the example has the axes 0 to "
                f"{array.ndim - 1}."
            )
        if axis == 0:
            continue
        if not isinstance(called, str) or not called or called == BATCH:
            raise ModelError(
                f"dynamic_axes[{name!r}][{axis}] is {called!r}; it must be a name other than "
                f'"{BATCH}", such as "sequence". The batch is axis 0.'
            )
        if array.shape[axis] < 2:
            raise ModelError(
                f"Axis {axis} of example input {name!r} has {array.shape[axis]} elements; a "
                "dynamic axis needs at least 2, or the export would make it static."
            )
        yield axis, called, array.shape[axis]


def dynamic_axes_of(specs: Sequence[TensorSpec]) -> dict[str, dict[int, str]]:
    """The dynamic axes other than the batch, by input name."""
    axes = {
        spec.name: {i: size for i, size in enumerate(spec.shape) if i and isinstance(size, str)}
        for spec in specs
    }
    return {name: named for name, named in axes.items() if named}
