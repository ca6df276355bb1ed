"""Graphs in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from workbench.verification.double_precision import in_double_precision


def test_every_float_becomes_a_double() -> None:
    w = np.float32(np.pi) * np.ones((3, 3), np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Constant", [], ["half"], value_float=0.5),
            helper.make_node("Mul", ["h", "half"], ["m"]),
            helper.make_node("Cast", ["m"], ["whole"], to=TensorProto.INT64),
            helper.make_node("Cast", ["whole"], ["back"], to=TensorProto.FLOAT),
            helper.make_node("Shape", ["m"], ["shape"]),
            helper.make_node(
                "ConstantOfShape", ["shape"], ["ones"],
                value=helper.make_tensor("", TensorProto.FLOAT, [1], [1.0]),
            ),
            helper.make_node("Sum", ["m", "back", "ones"], ["y"]),
        ],
        "doubled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(w, "w")],
        value_info=[helper.make_tensor_value_info("h", TensorProto.FLOAT, ["batch", 3])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    made = in_double_precision(model)
    onnx.checker.check_model(made, full_check=True)
    x = np.array([[0.1, 0.2, 1e-9]])
    outputs: Any = ReferenceEvaluator(made).run(None, {"x": x})
    expected = x @ w.astype(np.float64) * 0.5
    assert outputs[0].dtype == np.float64
    np.testing.assert_allclose(outputs[0], expected + expected.astype(np.int64) + 1, rtol=1e-15)
    assert model.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT


@pytest.mark.parametrize(
    ("op", "inputs", "opset"),
    [("Resize", ["x", "", "scales"], 20), ("Upsample", ["x", "scales"], 9)],
)
def test_scales_stay_float(op: str, inputs: list[str], opset: int) -> None:
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], mode="nearest")],
        "resized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4])],
        [numpy_helper.from_array(np.array([1, 1, 2], np.float32), "scales")],
    )
    version = 9 if op == "Resize" else 4
    opsets = [helper.make_opsetid("", opset)]
    made = in_double_precision(helper.make_model(graph, opset_imports=opsets, ir_version=version))
    onnx.checker.check_model(made)
    assert made.graph.initializer[0].data_type == TensorProto.FLOAT
    assert made.graph.input[0].type.tensor_type.elem_type == TensorProto.DOUBLE


def test_constants_keep_their_shape() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["half"], value_float=0.5),
            helper.make_node("Constant", [], ["one"], value_floats=[1.5]),
            helper.make_node("Constant", [], ["two"], value_floats=[2.0, -3.0]),
        ],
        "constants",
        [],
        [helper.make_tensor_value_info("half", TensorProto.FLOAT, [])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    made = in_double_precision(model)
    values = [numpy_helper.to_array(node.attribute[0].t) for node in made.graph.node]
    assert [value.dtype for value in values] == [np.float64] * 3
    assert [value.shape for value in values] == [(), (1,), (2,)]
    assert [value.tolist() for value in values] == [0.5, [1.5], [2.0, -3.0]]


def test_an_upsample_whose_scales_are_an_attribute_has_none_to_keep() -> None:
    graph = helper.make_graph(
        [helper.make_node("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 2.0])],
        "upsampled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)
    made = in_double_precision(model)
    assert made.graph.output[0].type.tensor_type.elem_type == TensorProto.DOUBLE
    assert list(made.graph.node[0].attribute[0].floats) == [1.0, 1.0, 2.0]
