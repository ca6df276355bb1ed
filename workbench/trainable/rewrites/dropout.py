"""Dropout with the mask that its gradient reads."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite


class CompleteDropout(Rewrite):
    """Adds the mask output. Precondition: the node has its first output alone."""

    op: ClassVar[str] = "Dropout"
    note: ClassVar[str] = "gives the mask that its gradient reads"
    in_place: ClassVar[bool] = True

    def applies(self, node: ir.Node) -> bool:
        return len(node.outputs) == 1

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:  # noqa: ARG002
        node.resize_outputs(2)
        mask = node.outputs[1]
        mask.name = f"{node.outputs[0].name}.mask"
        mask.type, mask.shape = ir.TensorType(ir.DataType.BOOL), node.outputs[0].shape
