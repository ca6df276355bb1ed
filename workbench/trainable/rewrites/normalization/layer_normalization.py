"""LayerNormalization with its bias and all three outputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite


class CompleteLayerNormalization(Rewrite):
    """Adds the mean and inverse deviation that the gradient reads, and a bias of zeros if absent.

    Precondition: an input or an output is missing. Where it is the bias, the scale's shape
    is known.
    """

    op: ClassVar[str] = "LayerNormalization"
    note: ClassVar[str] = "given the bias and the three outputs that its gradient reads"
    in_place: ClassVar[bool] = True

    def applies(self, node: ir.Node) -> bool:
        if _has_bias(node):
            return len(node.outputs) < 3
        scale = node.inputs[1]
        return scale is not None and scale.shape is not None and scale.shape.is_static()

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        name = node.outputs[0].name
        if not _has_bias(node):
            scale = node.inputs[1]
            assert scale is not None
            assert scale.shape is not None
            zeros = np.zeros(scale.shape.numpy(), np.float32)
            node.resize_inputs(3)
            node.replace_input_with(2, edit.constant(f"{name}.bias", ir.tensor(zeros)))
        known = len(node.outputs)
        node.resize_outputs(3)
        for output, suffix in list(zip(node.outputs, ("", "mean", "inv_std"), strict=True))[known:]:
            output.name = f"{name}.{suffix}"
            output.type = ir.TensorType(ir.DataType.FLOAT)


def _has_bias(node: ir.Node) -> bool:
    return len(node.inputs) == 3 and node.inputs[2] is not None
