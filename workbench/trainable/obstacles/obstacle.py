"""Determines whether a node can be trained through; if not, why, with a remedy."""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from workbench.onnx_io.graph_metadata import BACKWARD, FUNCTION
from workbench.trainable.differentiable import (
    DIFFERENTIABLE,
    DIFFERENTIABLE_MICROSOFT,
    INSTEAD,
    MICROSOFT,
)
from workbench.trainable.obstacles.element_types import type_obstacle
from workbench.trainable.obstacles.limits import GENERAL_REMEDY, LIMITS, Obstacle
from workbench.trainable.registry import own_gradient

CONTROL_FLOW = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators with subgraphs."""


def obstacle(node: ir.Node, inputs_requiring_grad: Collection[int]) -> Obstacle | None:
    """Why `node` has no correct gradient to the inputs that require one; None if it has one."""
    if not inputs_requiring_grad:
        return None
    wrong_type = type_obstacle(node, inputs_requiring_grad)
    if wrong_type is not None:
        return wrong_type
    unwritten = _without_a_backward_graph(node)
    if unwritten is not None or own_gradient(node, inputs_requiring_grad) is not None:
        return unwritten
    known = DIFFERENTIABLE_MICROSOFT if node.domain == MICROSOFT else DIFFERENTIABLE
    if node.op_type not in known or node.domain not in {"", MICROSOFT}:
        return Obstacle("ONNX Runtime has no gradient for it.", _remedy(node.op_type))
    for limit in LIMITS.get(node.op_type, ()):
        found = limit(node, inputs_requiring_grad)
        if found is not None:
            return found
    return None


def _without_a_backward_graph(node: ir.Node) -> Obstacle | None:
    if FUNCTION in node.metadata_props and BACKWARD not in node.metadata_props:
        return Obstacle(
            f"The backward of the custom autograd function {node.metadata_props[FUNCTION]} is "
            "Python code that cannot be written as a graph: it does more than tensor operations.",
            'Train with engine="ortmodule", which calls the function between the parts of its '
            "graph, or freeze every parameter before the function with requires_grad.",
        )
    if node.op_type in CONTROL_FLOW and not node.domain:
        return Obstacle(
            "ONNX Runtime has no gradient for control flow, in which a value decides what runs.",
            "Export the model again without it: from PyTorch by torch.onnx.export(dynamo=True), "
            f"with fixed sizes where the condition is on a size. {GENERAL_REMEDY}",
        )
    return None


def _remedy(op: str) -> str:
    instead = INSTEAD.get(op)
    return f"Use {instead} in its place. {GENERAL_REMEDY}" if instead else GENERAL_REMEDY
