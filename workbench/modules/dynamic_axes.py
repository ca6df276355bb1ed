"""Which axes of a model's inputs have any size: the batch always, others on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import ModelError, nearest
from workbench.specs import TensorSpec

BATCH = "batch"
"""Name of the first axis of every input."""

DynamicAxes = Mapping[str, Mapping[int, str]]
"""By the name of an input: the names of its dynamic axes. One name stands for one size."""


def input_shapes(
    names: Sequence[str], arrays: Sequence[np.ndarray], dynamic_axes: DynamicAxes | None
) -> list[tuple[int | str, ...]]:
    """Shapes of the inputs, with names in the place of the sizes of dynamic axes.

    Raises:
        ModelError: an input or axis does not exist, an axis has fewer than 2 elements in the
            example, or one name is given to axes of different sizes.
    """
    wanted = dict(dynamic_axes or {})
    for name in wanted:
        if name not in names:
            raise ModelError(f"dynamic_axes: no input is named {name!r}. {nearest(name, names)}")
    sizes: dict[str, int] = {}
    shapes = []
    for name, array in zip(names, arrays, strict=True):
        shape: list[int | str] = [BATCH, *array.shape[1:]]
        for axis, called, size in _requested(name, array, wanted.get(name, {})):
            shape[axis] = called
            if sizes.setdefault(called, size) != size:
                raise ModelError(
                    f"dynamic_axes calls axes of {sizes[called]} and {size} elements {called!r}; "
                    "axes of one name have one size. Give them different names."
                )
        shapes.append(tuple(shape))
    return shapes


def _requested(name: str, array: np.ndarray, axes: Any) -> Iterator[tuple[int, str, int]]:
    if not isinstance(axes, Mapping):
        raise ModelError(
            f"dynamic_axes[{name!r}] is {axes!r}; give a name for each axis, such as "
            '{1: "sequence"}.'
        )
    for axis, called in axes.items():
        if not isinstance(axis, int) or not 0 <= axis < array.ndim:
            raise ModelError(
                f"dynamic_axes[{name!r}] names axis {axis!r}, but the example has the axes 0 to "
                f"{array.ndim - 1}."
            )
        if axis == 0:
            continue
        if not isinstance(called, str) or not called or called == BATCH:
            raise ModelError(
                f"dynamic_axes[{name!r}][{axis}] is {called!r}; give it a name of its own, such as "
                f'"sequence". The batch is axis 0.'
            )
        if array.shape[axis] < 2:
            raise ModelError(
                f"Axis {axis} of example input {name!r} has {array.shape[axis]} elements; a "
                "dynamic axis needs 2 or more, or the export would fix its size."
            )
        yield axis, called, array.shape[axis]


def dynamic_axes_of(specs: Sequence[TensorSpec]) -> dict[str, dict[int, str]]:
    """The dynamic axes of inputs beside the batch, by the name of the input."""
    axes = {
        spec.name: {i: size for i, size in enumerate(spec.shape) if i and isinstance(size, str)}
        for spec in specs
    }
    return {name: named for name, named in axes.items() if named}
