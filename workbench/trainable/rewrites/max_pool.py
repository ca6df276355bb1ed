"""Max pooling of a parameter itself."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite


class PoolCopyOfParameter(Rewrite):
    """Copies the parameter first: ONNX Runtime crashes while it builds the gradient otherwise.

    Precondition: no node computes the pooled value.
    """

    op: ClassVar[str] = "MaxPool"
    note: ClassVar[str] = "given a copy of the parameter: pooling the parameter itself crashes"
    in_place: ClassVar[bool] = True

    def applies(self, node: ir.Node) -> bool:
        source = node.inputs[0]
        return source is not None and source.producer() is None

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        source = node.inputs[0]
        assert source is not None
        copy = ir.node("Identity", [source])
        copy.outputs[0].type, copy.outputs[0].shape = source.type, source.shape
        edit.graph.insert_before(node, copy)
        node.replace_input_with(0, copy.outputs[0])
