"""Models: loaded from a sample, an nn.Module, a factory or an ONNX file, saved for workers.

Importing this loads neither torch nor onnx; a model loads them when it is asked for what only they
can tell.
"""

from __future__ import annotations

from workbench.models.load import load_model
from workbench.models.model import Model
from workbench.models.saved import load_saved
from workbench.specs import Layer, TensorSpec

__all__ = ["Layer", "Model", "TensorSpec", "load_model", "load_saved"]
