"""Replaces Sum nodes of two inputs that ONNX Runtime cannot load by Add nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_FIRST_REFUSED = 2


def write_additions(graph: onnx.GraphProto) -> None:
    """Make an Add of each Sum of two values of which ONNX Runtime 1.19 cannot load the graph.

    Its fusion of Gemm and Sum refuses a Gemm that reads the third or a later result of a node
    (`src_arg_index < 2 was false`): of a Split, the gradient of a concatenation, or of the YieldOp
    of a module with three results. Both operators compute the same.
    """
    producers = {name: node for node in graph.node for name in node.output if name}

    def is_refused(name: str) -> bool:
        node = producers.get(name)
        while node is not None and node.op_type == "Identity":
            name = node.input[0]
            node = producers.get(name)
        return node is not None and list(node.output).index(name) >= _FIRST_REFUSED

    for node in graph.node:
        if node.op_type != "Sum" or len(node.input) != 2:
            continue
        summed = [producers.get(name) for name in node.input]
        products = [each for each in summed if each is not None and each.op_type == "Gemm"]
        if any(is_refused(name) for each in products for name in each.input):
            node.op_type = "Add"
