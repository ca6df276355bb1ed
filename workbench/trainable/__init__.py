"""Graph rewrites that make an ONNX model trainable with ONNX Runtime; onnx and onnx-ir only.

`gradients` is what ONNX Runtime can differentiate, as data. Each rewrite has a file of its own and
states its precondition; `registry` lists them; `make` applies them and refuses the rest.
"""

from __future__ import annotations

from workbench.trainable.make import find, leading_to_outputs, make_trainable
from workbench.trainable.report import Finding, Report, State, StateUpdate

__all__ = [
    "Finding",
    "Report",
    "State",
    "StateUpdate",
    "find",
    "leading_to_outputs",
    "make_trainable",
]
