"""Sums of two large tensors, which PyTorch shares out among its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ort.ortmodule.aten.graph import Graph

if TYPE_CHECKING:
    import onnx

LEAST_ELEMENTS = 16_384
"""Of each sample, below which PyTorch's kernel takes longer to begin than it saves."""


def addition(node: onnx.NodeProto, graph: Graph) -> list[onnx.NodeProto] | None:
    """Add or Sum: two tensors -> one."""
    if len(node.input) != 2 or not graph.is_float(*node.input):
        return None
    if max(graph.elements(name) for name in node.input) < LEAST_ELEMENTS:
        return None
    return [graph.kernel("aten::add", node.input, node, node.output, overload="Tensor")]
