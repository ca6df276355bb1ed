"""Models: from an nn.Module, a factory or an ONNX file, saved for workers and read back.

Importing this package loads neither torch nor onnx; a model imports them on use.
"""

from __future__ import annotations

from workbench.models.model import Model
from workbench.models.saved import load_saved
from workbench.specs import Layer, TensorSpec

__all__ = ["Layer", "Model", "TensorSpec", "load_saved"]
