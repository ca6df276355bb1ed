"""Graphs whose random draws are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from workbench.trainable import without_randomness

X = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)


def graph_of(*nodes: NodeProto) -> onnx.ModelProto:
    floats = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    ratio = helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.5])
    training = helper.make_tensor("training", TensorProto.BOOL, [], [True])
    graph = helper.make_graph(list(nodes), "draws", [floats], [result], [ratio, training])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def run(model: onnx.ModelProto) -> np.ndarray:
    onnx.checker.check_model(model, full_check=True)
    outputs: Any = ReferenceEvaluator(model).run(None, {"x": X})
    return np.asarray(outputs[0])


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (helper.make_node("Dropout", ["x", "ratio", "training"], ["y"]), X),
        (helper.make_node("Bernoulli", ["x"], ["y"]), X),
        (helper.make_node("Bernoulli", ["x"], ["y"], dtype=TensorProto.FLOAT), X),
        (helper.make_node("RandomNormalLike", ["x"], ["y"], mean=1.0, scale=4.0), 0 * X + 3),
        (helper.make_node("RandomNormalLike", ["x"], ["y"]), 0 * X + 0.5),
        (helper.make_node("RandomUniformLike", ["x"], ["y"], low=1.0, high=2.0), 0 * X + 1.5),
        (helper.make_node("RandomUniform", [], ["y"], shape=[2, 3]), 0 * X + 0.5),
        (helper.make_node("RandomNormal", [], ["y"], shape=[2, 3], scale=2.0), 0 * X + 1),
    ],
    ids=lambda value: value.op_type if isinstance(value, NodeProto) else None,
)
def test_a_draw_becomes_its_constant(node: NodeProto, expected: np.ndarray) -> None:
    model = graph_of(node)
    before = model.SerializeToString()
    np.testing.assert_allclose(run(without_randomness(model)), expected, rtol=1e-6)
    assert model.SerializeToString() == before, "the graph that was given changed"


def test_a_graph_that_draws_nothing_is_the_same_object() -> None:
    model = graph_of(helper.make_node("Relu", ["x"], ["y"]))
    assert without_randomness(model) is model


def test_a_dropout_keeps_its_metadata() -> None:
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"], "drop")
    node.metadata_props.add(key="layer", value="block.0")
    (made,) = without_randomness(graph_of(node)).graph.node
    assert (made.op_type, made.name, made.metadata_props[0].value) == (
        "Identity",
        "drop",
        "block.0",
    )


def test_a_dropout_whose_mask_is_read_stays() -> None:
    dropout = helper.make_node("Dropout", ["x", "ratio", "training"], ["h", "mask"])
    model = graph_of(dropout, helper.make_node("Where", ["mask", "h", "x"], ["y"]))
    assert without_randomness(model) is model
