"""Types other than float32 on the path to the loss: rejected where they have no gradient."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.errors import UntrainableError
from workbench.trainable import make_trainable


def computed_in(kind: int, op: str) -> onnx.ModelProto:
    """x times a weight, `op` in another type, and back."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Cast", ["h"], ["there"], to=kind),
        helper.make_node(op, ["there"], ["done"], name="middle"),
        helper.make_node("Cast", ["done"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(np.ones((4, 3), np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize(
    ("kind", "op", "name"),
    [
        (TensorProto.DOUBLE, "Softmax", "float64"),
        (TensorProto.DOUBLE, "Relu", "float64"),
        (TensorProto.BFLOAT16, "Tanh", "bfloat16"),
    ],
)
def test_a_type_without_a_gradient_is_refused(kind: int, op: str, name: str) -> None:
    message = rf"{op} \(middle\): .*no gradient for it in {name} .*Compute in float32"
    with pytest.raises(UntrainableError, match=message):
        make_trainable(computed_in(kind, op), ["w"])


@pytest.mark.parametrize("kind", [TensorProto.DOUBLE, TensorProto.FLOAT16])
def test_a_type_with_one_is_left_alone(kind: int) -> None:
    made = computed_in(kind, "Tanh")
    assert make_trainable(made, ["w"])[0] is made
