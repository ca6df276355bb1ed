"""Element types other than float32 in which gradients can be computed on the CPU.

Each op was trained in each type on onnxruntime-training-cpu 1.19.2; the ops left out lack a kernel
for themselves or their gradient, so that the graph cannot be built or loaded.
"""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from workbench.trainable.obstacles.limits import GENERAL_REMEDY, Obstacle

FLOAT64 = frozenset({
    "Abs", "Add", "Cast", "Clip", "Div", "Exp", "Expand", "Identity", "Log", "Mul", "Neg", "Pow",
    "ReduceMean", "ReduceSum", "Reshape", "Sigmoid", "Sqrt", "Squeeze", "Sub", "Tanh",
    "Transpose", "Unsqueeze", "Where",
})  # fmt: skip
"""Ops that train in float64."""

NOT_FLOAT16 = frozenset({"LayerNormalization"})
"""Ops that do not train in float16; the others are computed in float32 between two casts."""


def type_obstacle(node: ir.Node, inputs_requiring_grad: Collection[int]) -> Obstacle | None:
    """Why `node` cannot be trained through in the types that it computes in; None if it can."""
    inputs = [node.inputs[index] for index in inputs_requiring_grad if index < len(node.inputs)]
    types = {value.dtype for value in (*inputs, *node.outputs) if value is not None}
    for kind, name, fails in (
        (ir.DataType.DOUBLE, "float64", node.op_type not in FLOAT64),
        (ir.DataType.FLOAT16, "float16", node.op_type in NOT_FLOAT16),
        (ir.DataType.BFLOAT16, "bfloat16", node.op_type != "Cast"),
    ):
        if kind in types and fails:
            return Obstacle(
                f"ONNX Runtime has no gradient for it in {name} on the CPU.",
                f"Compute in float32 there, or everywhere by module.float(). {GENERAL_REMEDY}",
            )
    return None
