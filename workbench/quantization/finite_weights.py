"""A check before a model is quantized: weights that are not finite have no scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from workbench.errors import ModelError


def refuse_not_finite_weights(path: Path) -> None:
    """Check the initializers of the .onnx file `path`.

    Raises:
        ModelError: one holds NaN or infinity.
    """
    for tensor in onnx.load(path).graph.initializer:
        values = onnx.numpy_helper.to_array(tensor, base_dir=str(path.parent))
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ModelError(
                f"The weights {tensor.name!r} hold NaN or infinity, so the model cannot be "
                "quantized: its training has diverged. Train it with a lower learning rate, or "
                "from an earlier checkpoint."
            )
