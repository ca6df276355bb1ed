"""Sums of two become Adds where ONNX Runtime could not load the graph, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from workbench.ort.graph.rewrites.refused_sums import write_additions


def summed(read: str, others: list[str]) -> Any:
    """The sum of `others` and of a Gemm that reads `read`, one of the parts `p0` to `p2` of x."""
    nodes = [
        helper.make_node("Split", ["x"], ["p0", "p1", "p2"], axis=1, num_outputs=3),
        helper.make_node("Identity", ["p2"], ["same"]),
        helper.make_node("Gemm", [read, "w"], ["product"]),
        helper.make_node("Sum", ["product", *others], ["y"]),
    ]
    shapes = {"x": [2, 6], "w": [2, 2]}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])
    graph = helper.make_graph(nodes, "g", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize(
    ("read", "others", "operator"),
    [
        ("p2", ["p0"], "Add"),
        ("same", ["p0"], "Add"),
        ("p1", ["p0"], "Sum"),
        ("p2", ["p0", "p1"], "Sum"),
    ],
)
def test_only_a_sum_of_two_with_a_product_of_a_later_result_is_an_addition(
    read: str, others: list[str], operator: str
) -> None:
    model = summed(read, others)
    random = np.random.default_rng(0)
    shapes = {"x": (2, 6), "w": (2, 2)}
    given = {n: random.random(shape, dtype=np.float32) for n, shape in shapes.items()}
    expected = ReferenceEvaluator(model).run(None, given)
    write_additions(model.graph)
    assert model.graph.node[-1].op_type == operator
    np.testing.assert_allclose(ReferenceEvaluator(model).run(None, given), expected, rtol=1e-6)
