"""Sums of large tensors, which PyTorch computes with several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.kernel_call import kernel_call

if TYPE_CHECKING:
    import onnx

LEAST_ELEMENTS = 16_384
"""Elements of a sample below which the overhead of PyTorch's kernel exceeds its gain."""


def addition(node: onnx.NodeProto, graph: GraphEditor) -> list[onnx.NodeProto] | None:
    """Add or Sum: two tensors or more -> one."""
    first, *others = node.input
    if not others or not graph.is_float(*node.input):
        return None
    if max(graph.elements(name) for name in node.input) < LEAST_ELEMENTS:
        return None
    made = []
    for place, other in enumerate(others, start=1):
        is_last = place == len(others)
        result = node.output[0] if is_last else f"{node.output[0]}.of_{place + 1}"
        made.append(
            kernel_call(graph, "aten::add", [first, other], node, [result], overload="Tensor")
        )
        made[-1].name = result
        first = result
    return made
