"""Buffers that the forward pass writes, such as moving averages."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.graph_metadata import UPDATES
from workbench.trainable.rewrite import GraphEdit, Rewrite


class CarryBufferUpdate(Rewrite):
    """Makes the training step store the value that the forward pass writes into a buffer.

    Precondition: the export marked the node as the new value of a buffer that the graph holds.
    """

    op: ClassVar[str] = "Identity"
    note: ClassVar[str] = "writes its value into a buffer, as the module's forward pass does"
    everywhere: ClassVar[bool] = True
    in_place: ClassVar[bool] = True

    @override
    def applies(self, node: ir.Node) -> bool:
        buffer = node.metadata_props.get(UPDATES)
        return buffer is not None and node.graph is not None and buffer in node.graph.initializers

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        edit.state[node.metadata_props.pop(UPDATES)] = node.outputs[0]
