"""What is known of a model's tensors, parameters and layers without holding their values."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class TensorSpec(NamedTuple):
    """An input or output of a model."""

    name: str
    shape: tuple[int | str, ...]
    """Sizes; a name is an axis of any size, and the first is "batch" wherever it is dynamic."""
    dtype: str
    """Name of a numpy dtype; "float32" or "int64" for everything that can be trained."""

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
    """False for one that the model's author froze."""

    @classmethod
    def from_json(cls, record: Any) -> ParameterSpec:
        """The spec that was written to JSON as a list."""
        shape, dtype, trainable = record
        return cls(tuple(shape), dtype, trainable)

    @property
    def element_count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def byte_count(self) -> int:
        """Its size in bytes."""
        return self.element_count * np.dtype(self.dtype).itemsize


class Layer(NamedTuple):
    """One row of a model's summary."""

    name: str
    kind: str
    """Class of the module, or ONNX operator."""
    output_shape: tuple[int | str, ...] | None
    """None where it is not known."""
    parameters: int
    """Numbers in the parameters of this layer alone; a shared parameter counts once."""
    bytes: int
    """Size of those parameters in bytes."""
