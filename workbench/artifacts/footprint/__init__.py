"""Prediction of the memory that on-device training takes, from the training artifacts alone.

`python -m workbench.artifacts.footprint REQUEST.json` predicts it in a child process: only there
are onnx and onnxruntime imported.
"""

from __future__ import annotations

from workbench.artifacts.footprint.estimate import Estimate, estimate
from workbench.artifacts.footprint.footprint import ACCURACY, Footprint
from workbench.artifacts.footprint.predict import footprint, footprint_within, largest_batch

__all__ = [
    "ACCURACY",
    "Estimate",
    "Footprint",
    "estimate",
    "footprint",
    "footprint_within",
    "largest_batch",
]
