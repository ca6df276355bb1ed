"""Parameters in one contiguous buffer."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from workbench.errors import ArtifactsError

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of the parameters by name, in the order of the buffer."""


def to_buffer(weights: Mapping[str, np.ndarray], shapes: Shapes) -> np.ndarray:
    """The parameters one after another, each in C order; float32, one-dimensional.

    Raises:
        ArtifactsError: one is missing, or has another shape or dtype.
    """
    for name, shape in shapes.items():
        value = weights.get(name)
        if value is None or value.shape != shape or value.dtype != np.float32:
            given = "missing" if value is None else f"{value.dtype} of shape {list(value.shape)}"
            raise ArtifactsError(
                f"Parameter {name!r} is {given}; the artifacts have float32 of shape "
                f"{list(shape)}. Use weights of the model that they were generated from."
            )
    parts = [weights[name].ravel() for name in shapes]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def from_buffer(buffer: np.ndarray, shapes: Shapes) -> dict[str, np.ndarray]:
    """Copies of the parameters in a buffer of `to_buffer`.

    Raises:
        ArtifactsError: it has another size, dtype or number of axes.
    """
    size = sum(map(math.prod, shapes.values()))
    array = np.asarray(buffer)
    if array.dtype != np.float32 or array.shape != (size,):
        raise ArtifactsError(
            f"The buffer is {array.dtype} of shape {list(array.shape)}; the parameters of the "
            f"artifacts take float32 of shape [{size}]. Check trainable_only and the artifacts."
        )
    found, start = {}, 0
    for name, shape in shapes.items():
        end = start + math.prod(shape)
        found[name] = array[start:end].reshape(shape).copy()
        start = end
    return found
