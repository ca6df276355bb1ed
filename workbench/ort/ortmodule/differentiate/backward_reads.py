"""Finds the inputs and results of a gradient graph that its backward pass reads."""

from __future__ import annotations

from collections.abc import Collection

from workbench.ort.graph.memory.kept_values import SHAPE_READERS, VIEWS


def backward_reads(model: bytes, names: Collection[str]) -> frozenset[str]:
    """Those of `names`, inputs or results of the serialized `model`, that the backward pass reads.

    Also where it reads another view of their memory; not where it reads their shapes alone.

    Its nodes are those that may run after the YieldOp: all except its ancestors.
    """
    import onnx

    nodes = list(onnx.load_from_string(model).graph.node)
    producers = {name: place for place, node in enumerate(nodes) for name in node.output}
    forward = {place for place, node in enumerate(nodes) if node.op_type == "YieldOp"}
    waiting = list(forward)
    while waiting:
        before = {producers[name] for name in nodes[waiting.pop()].input if name in producers}
        waiting += before - forward
        forward |= before
    later = [node for place, node in enumerate(nodes) if place not in forward]
    read = {name for node in later if node.op_type not in SHAPE_READERS for name in node.input}
    # Views come after their sources.
    for node in reversed(nodes):
        if node.op_type in VIEWS and node.output[0] in read:
            read.add(node.input[0])
    return frozenset(names) & read
