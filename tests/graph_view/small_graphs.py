"""Graphs of a few nodes, and their descriptions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from workbench.graph_view import GraphFile
from workbench.graph_view.description import GraphDescription

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3) - 1


def two_layers(*, names: tuple[str, str, str], layers: tuple[str, ...] = ()) -> onnx.ModelProto:
    """x -> MatMul -> Relu -> Neg -> y; x has 2 columns, the weight is 2 by 3."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], names[0]),
        helper.make_node("Relu", ["a"], ["b"], names[1]),
        helper.make_node("Neg", ["b"], ["y"], names[2]),
    ]
    for node, layer in zip(nodes, layers, strict=False):
        node.metadata_props.add(key="layer", value=layer)
    graph = helper.make_graph(
        nodes,
        "two_layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def described(model: onnx.ModelProto, **options: object) -> GraphDescription:
    return GraphFile("forward", "two layers", lambda: model, **options).description  # type: ignore[arg-type]
