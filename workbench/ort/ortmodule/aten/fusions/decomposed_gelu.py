"""Fuses a decomposed tanh GELU into one node."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import helper

from workbench.ort.ortmodule.aten.fusions.fusion_graph import FusionGraph

if TYPE_CHECKING:
    import onnx

_TOLERANCE = 1e-4
"""Relative tolerance of its constants."""


def fuse_decomposed_gelu(tanh: onnx.NodeProto, graph: FusionGraph) -> bool:
    """Fuse 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) around a Tanh into one FastGelu.

    Terms and factors may come in any order.
    """
    found = _argument(tanh.input[0], graph)
    if found is None:
        return False
    x, nodes = found
    raised = graph.reader(tanh.output[0], "Add")
    if raised is None or not _has(raised, 1.0, graph):
        return False
    last = graph.reader(raised.output[0], "Mul")
    if last is None:
        return False
    other = last.input[1 if last.input[0] == raised.output[0] else 0]
    half = graph.alone(other, "Mul")
    if half is None or not _has(half, 0.5, graph):
        return False
    if x not in half.input or not graph.shape(x) or not graph.is_float(x):
        return False
    result = last.output[0]
    made = helper.make_node("FastGelu", [x], [result], f"{result}.gelu", domain="com.microsoft")
    graph.fuse([*nodes, tanh, raised, half, last], [made])
    return True


def _argument(name: str, graph: FusionGraph) -> tuple[str, list[onnx.NodeProto]] | None:
    """x and the nodes of sqrt(2/π) (x + 0.044715 x³)."""
    scaled = graph.alone(name, "Mul")
    if scaled is None or not _has(scaled, math.sqrt(2 / math.pi), graph):
        return None
    added = graph.alone(_other(scaled, graph), "Add")
    if added is None:
        return None
    for side in (0, 1):
        x, cubic = added.input[side], added.input[1 - side]
        factor = graph.alone(cubic, "Mul")
        if factor is None or not _has(factor, 0.044715, graph):
            continue
        cube = graph.alone(_other(factor, graph), "Pow")
        if cube is not None and cube.input[0] == x and graph.scalar(cube.input[1]) == 3:
            return x, [cube, factor, added, scaled]
    return None


def _has(node: onnx.NodeProto, number: float, graph: FusionGraph) -> bool:
    """Whether one of its two inputs is that constant."""
    found = [graph.scalar(name) for name in node.input]
    return any(each is not None and abs(each - number) <= _TOLERANCE * number for each in found)


def _other(node: onnx.NodeProto, graph: FusionGraph) -> str:
    """The input of a binary node that is not a one-element constant."""
    one, other = node.input
    return str(one if graph.scalar(one) is None else other)
