"""MaxPoolGrad from the maxima themselves, without the indices of MaxPool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call
from workbench.ort.ortmodule.aten.operators.windows import windows_of

if TYPE_CHECKING:
    import onnx


def max_pool_gradient(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """MaxPoolGrad: dY, indices -> dX; the MaxPool no longer computes indices.

    ONNX Runtime's MaxPool takes several times as long with indices.
    """
    dy, indices = node.input
    forward = graph.producers.get(indices)
    if forward is None or forward.op_type != "MaxPool" or graph.uses[indices] != 1:
        return None
    x, y = forward.input[0], forward.output[0]
    kernel = attribute(forward, "kernel_shape", [])
    windows = windows_of(forward, len(kernel))
    if windows is None or len(kernel) > 2 or not graph.is_float(x, y, dy):
        return None
    del forward.output[1:]
    graph.uses[indices] = 0
    numbers = [kernel, windows.strides, windows.padding, windows.dilations]
    inputs = [dy, x, y, *map(graph.integers, numbers)]
    return [kernel_call(graph, "workbench_kernels::max_pool_backward", inputs, node, node.output)]
