"""What every translation builds its nodes with."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnxscript import opset20

op: Any = opset20
"""Builder of nodes; its annotations require tensors; it accepts lists too."""

Value = Any
"""A tensor as passed by torch's exporter; it has a shape and a dtype."""


def number(value: float, like: Value) -> Value:
    """A scalar of the dtype of `like`."""
    return op.Constant(value=ir.tensor(np.array(value, like.dtype.numpy())))
