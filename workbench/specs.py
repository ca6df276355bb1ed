"""Specs of a model's tensors, parameters and layers: names, shapes and dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class TensorSpec(NamedTuple):
    """An input or output of a model."""

    name: str
    shape: tuple[int | str, ...]
    """Sizes, or names of dynamic axes; the first one is "batch" if it is dynamic."""
    dtype: str
    """Name of a numpy dtype."""

    @classmethod
    def from_json(cls, record: Any) -> TensorSpec:
        """The spec that was written to JSON as a list."""
        name, shape, dtype = record
        return cls(name, tuple(shape), dtype)


class ParameterSpec(NamedTuple):
    """A parameter of a model."""

    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    """False for a frozen parameter."""

    @classmethod
    def from_json(cls, record: Any) -> ParameterSpec:
        """The spec that was written to JSON as a list."""
        shape, dtype, trainable = record
        return cls(tuple(shape), dtype, trainable)

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def byte_count(self) -> int:
        """Size in bytes."""
        return self.element_count * np.dtype(self.dtype).itemsize


class Layer(NamedTuple):
    """One row of a model's summary."""

    name: str
    kind: str
    """Class of the module, or ONNX operator."""
    output_shape: tuple[int | str, ...] | None
    """None if it is unknown."""
    parameters: int
    """Number of elements of this layer's parameters; a shared parameter is counted once."""
    bytes: int
    """Size of those parameters in bytes."""
    multiply_adds: int | None = None
    """Multiply-adds for one row of the batch, of linear layers, attention, products, convolutions;
    None: of other layers, or not known."""


def elements_of_row(shape: Sequence[int | str] | None) -> int | None:
    """Number of elements for one row of the batch; None if a size is not known."""
    if shape is None:
        return None
    total = 1
    for size in shape:
        if isinstance(size, str) and size != "batch":
            return None
        total *= 1 if isinstance(size, str) else size
    return total
