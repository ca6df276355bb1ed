"""GatherGrad, the gradient of an embedding, by a kernel that adds whole rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call

if TYPE_CHECKING:
    import onnx


def gather_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """GatherGrad: shape, indices, dY -> dX of that shape."""
    shape, indices, dy = node.input
    if not graph.is_float(dy, node.output[0]):
        return None
    inputs = [shape, indices, dy, graph.integer(attribute(node, "axis", 0))]
    return [kernel_call(graph, "workbench_kernels::gather_backward", inputs, node, node.output)]
