"""The gradient of ReLU in three operators equals its definition."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from workbench.ort.graph.relu_gradient import rewrite_relu_gradient


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_it_is_the_gradient_where_the_result_was_positive_and_zero_elsewhere(dtype: str) -> None:
    def value(name: str) -> object:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, ["n"])

    nodes = [
        helper.make_node("ReluGrad", ["dy", "y"], ["inner"], "first", domain="com.microsoft"),
        helper.make_node("ReluGrad", ["inner", "z"], ["dx"], "second", domain="com.microsoft"),
    ]
    graph = helper.make_graph(nodes, "g", [value("dy"), value("y"), value("z")], [value("dx")])
    assert rewrite_relu_gradient(graph) == 2
    assert rewrite_relu_gradient(graph) == 0
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    random = np.random.default_rng(0)
    dy = random.standard_normal(100).astype(dtype)
    y, z = np.maximum(random.standard_normal((2, 100)), 0).astype(dtype)
    (got,) = ReferenceEvaluator(model).run(None, {"dy": dy, "y": y, "z": z})
    worst = np.abs(got - np.where((y > 0) & (z > 0), dy, 0)).max()
    assert worst == 0, f"differs by {worst}"
