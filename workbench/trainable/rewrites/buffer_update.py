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
        buffer = edit.graph.initializers[node.metadata_props.pop(UPDATES)]
        edit.state[str(buffer.name)] = node.outputs[0]
        _read_a_copy(buffer, edit.graph)


def _read_a_copy(buffer: ir.Value, graph: ir.Graph) -> None:
    """Let the nodes read a copy: the backward pass runs when the buffer may have its new value.

    ONNX Runtime removes an Identity, and keeps a maximum of one value.
    """
    if not buffer.uses() or buffer.dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return
    copy = ir.node("Max", [buffer])
    copy.outputs[0].type, copy.outputs[0].shape = buffer.type, buffer.shape
    copy.outputs[0].name = f"{buffer.name}.before"
    ir.convenience.replace_all_uses_with(buffer, copy.outputs[0])
    copy.replace_input_with(0, buffer)
    graph.insert_before(graph[0], copy)
