"""`load_model` and `load_dataset`: detect the type of a source, samples included.

Importing this package imports neither torch nor onnx.
"""

from __future__ import annotations

from workbench.load.dataset import load_dataset
from workbench.load.model import load_model

__all__ = ["load_dataset", "load_model"]
