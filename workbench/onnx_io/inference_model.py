"""Writes ONNX models for inference with given weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ModelError
from workbench.onnx_io.large_file import without_initializers, write_onnx

if TYPE_CHECKING:
    import onnx


def write_inference_model(
    source: Path | onnx.ModelProto, weights: Mapping[str, np.ndarray], path: Path
) -> Path:
    """Write a copy of an inference model with the given weights.

    Initializers without an entry in `weights` keep their values, and entries without an
    initializer (a counter such as `num_batches_tracked`) are ignored. The file is written
    atomically; above 2 GB the weights are external data. `source` is not modified.

    Raises:
        ModelError: the shape of a weight differs from its initializer.
    """
    import onnx

    model = onnx.load(source) if isinstance(source, Path) else source
    return write_onnx(with_weights(model, weights), path)


def with_weights(model: onnx.ModelProto, weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """A copy of `model` with the given weights; `model` itself if there are none.

    Raises:
        ModelError: the shape of a weight differs from its initializer.
    """
    if not weights:
        return model
    made = without_initializers(model)
    for initializer in model.graph.initializer:
        value = weights.get(initializer.name)
        if value is None:
            made.graph.initializer.append(initializer)
        else:
            made.graph.initializer.append(_with_values(initializer, value))
    return made


def _with_values(initializer: onnx.TensorProto, value: np.ndarray) -> onnx.TensorProto:
    import onnx
    from onnx import numpy_helper

    if tuple(initializer.dims) != value.shape:
        raise ModelError(
            f"Weight {initializer.name!r} has shape {list(value.shape)}, but the model has "
            f"{list(initializer.dims)}. Use weights of this model."
        )
    dtype = onnx.helper.tensor_dtype_to_np_dtype(initializer.data_type)
    return numpy_helper.from_array(np.asarray(value, dtype, order="C"), initializer.name)
