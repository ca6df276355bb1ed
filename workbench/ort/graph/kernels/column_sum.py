"""Sums over the first axes of a tensor, as the gradient of a bias is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import FLOAT

if TYPE_CHECKING:
    import onnx


def column_sum_axes(editor: GraphEditor, node: onnx.NodeProto) -> int | None:
    """Over how many first axes, which are removed, a ReduceSum goes; None of every other node."""
    if node.op_type != "ReduceSum" or node.domain:
        return None
    data, rank = node.input[0], editor.rank(node.input[0])
    axes = editor.constant(node.input[1]) if len(node.input) > 1 else None
    if axes is None or axes.size == 0 or attribute(node, "keepdims", 1):
        return None
    if not editor.may_be_float(data) or editor.element_type(data) != FLOAT:
        return None
    if (axes < 0).any():
        if rank is None:
            return None
        axes = axes % rank
    count = int(axes.size)
    return count if sorted(axes.ravel().tolist()) == list(range(count)) else None
