"""A linear layer as one kernel: its product, its bias, and both of their gradients at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnx import helper

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.ortmodule.aten.fusions.fusion_graph import FusionGraph
from workbench.ort.ortmodule.aten.kernel_call import DOMAIN
from workbench.trainable.custom_gradient import BackwardGraph

if TYPE_CHECKING:
    import onnx

FORWARD, BACKWARD = "workbench_kernels::linear", "workbench_kernels::linear_backward"

_WANTED = 4
"""Index, among the gradient's inputs, of the flags of requested results."""

LEAST_MULTIPLICATIONS = 100_000
"""Multiplications of a sample below which the overhead of PyTorch's product exceeds its gain."""


class _Linear(NamedTuple):
    nodes: list[onnx.NodeProto]
    x: str
    weight: str
    bias: str
    """Empty where there is none."""
    weight_is_transposed: bool
    """(out, in), as in torch.nn.Linear."""


def fuse_linear(node: onnx.NodeProto, graph: FusionGraph) -> bool:
    """Fuse a MatMul or Gemm with a matrix, and the bias added to it, into one kernel."""
    found = _of_gemm(node, graph) if node.op_type == "Gemm" else _of_matmul(node, graph)
    if found is None:
        return False
    given, matrix = graph.shape(found.x), graph.shape(found.weight)
    if given is None or matrix is None or len(matrix) != 2 or None in matrix or len(given) < 2:
        return False
    if graph.elements(found.x) * (matrix[0 if found.weight_is_transposed else 1] or 0) < (
        LEAST_MULTIPLICATIONS
    ):
        return False
    if not graph.is_float(found.x, found.weight, *filter(None, [found.bias])):
        return False
    _fuse(found, graph)
    return True


def _of_gemm(node: onnx.NodeProto, graph: FusionGraph) -> _Linear | None:
    if attribute(node, "transA", 0) or attribute(node, "alpha", 1.0) != 1:
        return None
    bias = node.input[2] if len(node.input) > 2 else ""
    if bias and (attribute(node, "beta", 1.0) != 1 or not _is_row(bias, node.output[0], graph)):
        return None
    transposed = bool(attribute(node, "transB", 0))
    return _Linear([node], node.input[0], node.input[1], bias, transposed)


def _of_matmul(node: onnx.NodeProto, graph: FusionGraph) -> _Linear | None:
    x, weight = node.input
    if len(graph.shape(weight) or ()) != 2:
        return None
    turned = graph.producer(weight, "Transpose")
    if turned is not None:
        weight = turned.input[0]
    add = graph.reader(node.output[0], "Add")
    bias = ""
    if add is not None:
        other = add.input[1 if add.input[0] == node.output[0] else 0]
        if _is_row(other, add.output[0], graph):
            bias = other
    nodes = [node, add] if bias and add is not None else [node]
    return _Linear(nodes, x, weight, bias, turned is not None)


def _is_row(bias: str, result: str, graph: FusionGraph) -> bool:
    """Whether its only axis is that of the columns of the result."""
    shape, whole = graph.shape(bias), graph.shape(result)
    return bool(shape and whole and len(shape) == 1 and shape[0] == whole[-1] and shape[0] != 1)


def _fuse(found: _Linear, graph: FusionGraph) -> None:
    result = found.nodes[-1].output[0]
    name = f"{result}.linear"
    inputs = [found.x, found.weight, found.bias, graph.truth(found.weight_is_transposed)]
    made = helper.make_node("ATen", inputs, [result], name, domain=DOMAIN, operator=FORWARD)
    backward = BackwardGraph()
    given = [backward.gradient(), backward.input(0), backward.input(1)]
    given.append(backward.constant(found.weight_is_transposed, np.bool_))
    given.append(backward.constant([True, True, True], np.bool_))
    gradients = backward.nodes("ATen", *given, outputs=3, domain=DOMAIN, operator=BACKWARD)
    results = {index: value for index, value in enumerate(gradients) if inputs[index]}
    graph.fuse(found.nodes, [made], backward.finish(name, results))


def take_any_shape(node: onnx.NodeProto, graph: GraphEditor) -> set[str]:
    """Let the gradient of a linear layer read that of the result without a Reshape.

    Returns:
        The results of the Reshape and the Shape that are no longer used.
    """
    reshape = graph.producers.get(node.input[0])
    if reshape is None or reshape.op_type != "Reshape" or graph.uses[reshape.output[0]] != 1:
        return set()
    node.input[0], shape = reshape.input
    needless = {reshape.output[0]}
    found = graph.producers.get(shape)
    if found is not None and found.op_type == "Shape" and graph.uses[shape] == 1:
        needless.add(shape)
    return needless


def leave_out_unread(node: onnx.NodeProto, graph: GraphEditor) -> None:
    """Omit the results of a linear layer's gradient that nothing reads."""
    wanted = [bool(graph.uses[name]) for name in node.output]
    node.input[_WANTED] = graph.booleans(wanted)
