"""An ONNX model as people run it: forward only, written whole, with the weights of the moment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import ModelError

if TYPE_CHECKING:
    import onnx


def write_inference_model(
    source: Path | onnx.ModelProto, weights: Mapping[str, np.ndarray], path: Path
) -> Path:
    """Write an inference model again with the given weights in place of its own.

    Initializers without an entry in `weights` keep their values, and entries without an
    initializer (a counter such as `num_batches_tracked`) are left out. The file is whole or absent.

    Raises:
        ModelError: a weight has another shape than its initializer.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(source) if isinstance(source, Path) else source
    for initializer in model.graph.initializer:
        value = weights.get(initializer.name)
        if value is None:
            continue
        if tuple(initializer.dims) != value.shape:
            raise ModelError(
                f"Weight {initializer.name!r} has shape {list(value.shape)}, but the model has "
                f"{list(initializer.dims)}. Use weights of this very model."
            )
        dtype = onnx.helper.tensor_dtype_to_np_dtype(initializer.data_type)
        initializer.CopyFrom(
            numpy_helper.from_array(np.ascontiguousarray(value, dtype=dtype), initializer.name)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        onnx.save(model, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
