"""Finds the inputs of a gradient graph that its backward pass reads."""

from __future__ import annotations

from collections.abc import Collection


def backward_reads(model: bytes, names: Collection[str]) -> frozenset[str]:
    """Those of `names`, inputs of the serialized `model`, that the backward pass reads.

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
    return frozenset(names) & {name for node in later for name in node.input}
