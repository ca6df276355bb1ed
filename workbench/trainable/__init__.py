"""Graph rewrites that make an ONNX model trainable with ONNX Runtime; no native code.

`differentiable` and `obstacles` list what ONNX Runtime can differentiate, as data. For the rest
there are `rewrites`, which replace a node by operators that it can, and `custom_gradients`, which
keep the node and define its gradient as a graph. `registry` lists them; `make` applies them and
refuses what remains.
"""

from __future__ import annotations

from workbench.trainable.custom_gradient import NodeGradient
from workbench.trainable.make import find, leading_to_outputs, make_trainable
from workbench.trainable.random_draws.constant_draws import without_randomness
from workbench.trainable.random_draws.seeded_draws import seeded_draws
from workbench.trainable.report import NodeFinding, Report, State, StateUpdate

__all__ = [
    "NodeFinding",
    "NodeGradient",
    "Report",
    "State",
    "StateUpdate",
    "find",
    "leading_to_outputs",
    "make_trainable",
    "seeded_draws",
    "without_randomness",
]
