"""Dropout as ONNX Runtime can run it and take its gradient."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.polynomial import number
from workbench.trainable.rewrite import GraphEdit, Rewrite


class DropoutOfAllToZero(Rewrite):
    """Writes Dropout with probability 1 as a product with 0, as PyTorch computes it.

    ONNX Runtime's Dropout takes probabilities below 1.
    Precondition: the node drops, its probability is a constant, and nothing reads its mask.
    """

    op: ClassVar[str] = "Dropout"
    note: ClassVar[str] = "written as X * 0, as its probability is 1"
    everywhere: ClassVar[bool] = True

    @override
    def applies(self, node: ir.Node) -> bool:
        kind = node.outputs[0].dtype
        given = len(node.inputs) == 3 and [number(value) for value in node.inputs[1:]] == [1, 1]
        masked = any(value.uses() or value.is_graph_output() for value in node.outputs[1:])
        return given and not masked and kind is not None

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        kind = node.outputs[0].dtype
        assert kind is not None
        zero = ir.tensor(np.zeros((), kind.numpy()))
        factor = edit.constant(f"{node.outputs[0].name}.none", zero)
        made = ir.node("Mul", [node.inputs[0], factor], name=node.name)
        edit.replace([node], [made], {node.outputs[0]: made.outputs[0]})


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
