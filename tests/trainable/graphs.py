"""Graphs of one input, written node by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def graph(
    nodes: Sequence[onnx.NodeProto],
    weights: dict[str, np.ndarray],
    outputs: Sequence[str] = ("y",),
    shape: Sequence[int | str] = ("batch", 4),
) -> onnx.ModelProto:
    """A graph with one input x; shapes of the outputs are inferred."""
    made = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def matrix(rows: int = 4, columns: int = 4) -> np.ndarray:
    return np.ones((rows, columns), np.float32)


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]
