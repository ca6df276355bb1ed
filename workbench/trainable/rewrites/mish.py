"""Mish in operators that have a gradient."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.rewrite import GraphEdit, Rewrite


class MishToSoftplus(Rewrite):
    """Writes Mish(X) as X * Tanh(Softplus(X)), as ONNX Runtime computes it."""

    op: ClassVar[str] = "Mish"
    note: ClassVar[str] = "written as X * Tanh(Softplus(X))"

    @override
    def applies(self, node: ir.Node) -> bool:
        return True

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        x = node.inputs[0]
        soft = ir.node("Softplus", [x])
        gate = ir.node("Tanh", soft.outputs)
        made = ir.node("Mul", [x, gate.outputs[0]], name=node.name)
        for value in (*soft.outputs, *gate.outputs):
            value.type, value.shape = node.outputs[0].type, node.outputs[0].shape
        edit.replace([node], [soft, gate, made], {node.outputs[0]: made.outputs[0]})
