"""Whether a node can be trained through, and if not, why and what to do."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from workbench.trainable.gradients import (
    DIFFERENTIABLE,
    DIFFERENTIABLE_MICROSOFT,
    INSTEAD,
    MICROSOFT,
)
from workbench.trainable.limits import GENERAL_REMEDY, LIMITS, Obstacle


def obstacle(node: ir.Node, carried: Collection[int]) -> Obstacle | None:
    """Why `node` has no right gradient to the inputs in `carried`; None if it has one."""
    known = DIFFERENTIABLE_MICROSOFT if node.domain == MICROSOFT else DIFFERENTIABLE
    if node.op_type not in known or node.domain not in {"", MICROSOFT}:
        return Obstacle("ONNX Runtime has no gradient for it.", _remedy(node.op_type))
    for limit in LIMITS.get(node.op_type, ()):
        found = limit(node, carried)
        if found is not None:
            return found
    return None


def _remedy(op: str) -> str:
    instead = INSTEAD.get(op)
    return f"Use {instead} in its place. {GENERAL_REMEDY}" if instead else GENERAL_REMEDY
