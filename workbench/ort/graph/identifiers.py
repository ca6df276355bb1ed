"""How graphs name domains, element types and gradients."""

from __future__ import annotations

MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""

FLOAT, INT64, BOOL = 1, 7, 9
"""Element types as `onnx.TensorProto` numbers them, for files that load onnx on use."""

GRADIENT = "_grad"
"""Suffix by which ONNX Runtime's gradient builder names the gradient of a value; the parts of a
gradient that is a sum have numbers, as in `x_grad_0`."""
