"""An ONNX model as people run it: forward only, written whole, with the weights of the moment."""

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
    """Write an inference model again with the given weights in place of its own.

    Initializers without an entry in `weights` keep their values, and entries without an
    initializer (a counter such as `num_batches_tracked`) are left out. The file is whole or absent;
    above 2 GB a second one holds the weights. `source` stays as it is.

    Raises:
        ModelError: a weight has another shape than its initializer.
    """
    import onnx

    model = onnx.load(source) if isinstance(source, Path) else source
    return write_onnx(with_weights(model, weights), path)


def with_weights(model: onnx.ModelProto, weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """A copy of `model` with the given weights in place of its own; itself where none are given.

    Raises:
        ModelError: a weight has another shape than its initializer.
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
            f"{list(initializer.dims)}. Use weights of this very model."
        )
    dtype = onnx.helper.tensor_dtype_to_np_dtype(initializer.data_type)
    return numpy_helper.from_array(np.asarray(value, dtype, order="C"), initializer.name)
