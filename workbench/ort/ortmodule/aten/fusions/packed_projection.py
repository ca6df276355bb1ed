"""The packed projection of torch.nn.MultiheadAttention, with fewer copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from workbench.onnx_io.nodes import attribute
from workbench.ort.ortmodule.aten.fusions.fusion_graph import FusionGraph

if TYPE_CHECKING:
    import onnx

_PARTS = 3
"""Queries, keys and values."""


def fuse_unpacking(squeeze: onnx.NodeProto, graph: FusionGraph) -> bool:
    """Split the packed projection where its parts become an axis that is moved to the front.

    (length, batch, 3 width) is reshaped to (length, batch, 3, width), transposed to (3, length,
    batch, width) and split; a Split of the last axis is equivalent.
    """
    nodes = _turning(squeeze, graph)
    taken = graph.readers(squeeze.output[0])
    chosen = {index: node for node in taken if (index := _index(node, graph)) is not None}
    if nodes is None or len(taken) != _PARTS or set(chosen) != set(range(_PARTS)):
        return False
    outputs = [chosen[index].output[0] for index in range(_PARTS)]
    name = f"{outputs[0]}.split"
    made = helper.make_node("Split", [nodes[0].input[0]], outputs, name, axis=2, num_outputs=_PARTS)
    graph.fuse([*nodes, *taken], [made], at=taken[0])
    return True


def fuse_heads(last: onnx.NodeProto, graph: FusionGraph) -> bool:
    """Convert (length, batch, heads * width) to (batch, heads, length, width) by one Transpose.

    In the original nodes batch and heads are one axis, which is split at the end.
    """
    turned = graph.alone(last.input[0], "Transpose")
    first = graph.alone(turned.input[0], "Reshape") if turned is not None else None
    if turned is None or first is None or attribute(turned, "perm", None) != [1, 0, 2]:
        return False
    names = (first.input[0], first.output[0], last.output[0])
    before, joined, after = (graph.shape(name) or () for name in names)
    if len(before) != 3 or len(joined) != 3 or len(after) != 4:
        return False
    heads, length, width = (size or 0 for size in after[1:])
    if not heads * length * width or (before[0], before[2]) != (length, heads * width):
        return False
    if (joined[0], joined[2]) != (length, width):
        return False
    seen = f"{last.output[0]}.heads"
    shape = graph.integers([length, -1, heads, width])
    made = [
        helper.make_node("Reshape", [first.input[0], shape], [seen], seen),
        helper.make_node(
            "Transpose", [seen], [last.output[0]], f"{seen}.turned", perm=[1, 2, 0, 3]
        ),
    ]
    graph.declare(seen, shape=[length, before[1], heads, width])
    graph.fuse([first, turned, last], made)
    return True


def _turning(squeeze: onnx.NodeProto, graph: FusionGraph) -> list[onnx.NodeProto] | None:
    """The nodes that move the parts to the first axis; None: another pattern."""
    turned = graph.alone(squeeze.input[0], "Transpose")
    if turned is None or attribute(turned, "perm", None) != [3, 1, 2, 0, 4]:
        return None
    unsqueeze = graph.alone(turned.input[0], "Unsqueeze")
    parts = graph.alone(unsqueeze.input[0], "Reshape") if unsqueeze is not None else None
    if unsqueeze is None or parts is None:
        return None
    whole, split = graph.shape(parts.input[0]) or (), graph.shape(parts.output[0]) or ()
    of_parts = len(whole) == 3 and len(split) == 4 and whole[2] and whole[2] == 3 * (split[3] or 0)
    if of_parts and _is_axis(unsqueeze, 0, graph) and _is_axis(squeeze, -2, graph):
        return [parts, unsqueeze, turned, squeeze]
    return None


def _is_axis(node: onnx.NodeProto, axis: int, graph: FusionGraph) -> bool:
    found = graph.constant(node.input[1]) if len(node.input) > 1 else None
    return found is not None and found.tolist() == [axis]


def _index(node: onnx.NodeProto, graph: FusionGraph) -> int | None:
    """The index along the first axis that a Gather selects."""
    if node.op_type != "Gather" or attribute(node, "axis", 0) != 0:
        return None
    found = graph.constant(node.input[1])
    return int(found.item()) if found is not None and found.ndim == 0 else None
