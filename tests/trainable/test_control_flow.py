"""Control flow: no obstacle off the path to the loss, named on it, weights inside it seen."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.errors import UntrainableError
from workbench.trainable import leading_to_outputs, make_trainable


def branch(name: str, op: str) -> onnx.GraphProto:
    """Reads `h`, the result of a layer, and a weight of the outer graph."""
    return helper.make_graph(
        [helper.make_node(op, ["h", "inside"], [name], name=f"{name}_node")],
        name,
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3])],
    )


def conditional() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "before"], ["h"], name="first"),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["yes"]),
        helper.make_node(
            "If",
            ["yes"],
            ["c"],
            name="choice",
            then_branch=branch("add", "Add"),
            else_branch=branch("sub", "Sub"),
        ),
        helper.make_node("MatMul", ["c", "after"], ["y"], name="last"),
    ]
    weights = {
        "before": np.ones((4, 3), np.float32),
        "inside": np.ones(3, np.float32),
        "after": np.ones((3, 2), np.float32),
        "zero": np.float32(0),
    }
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


def test_weights_inside_and_before_control_flow_lead_to_the_loss() -> None:
    names = ["before", "inside", "after"]
    assert leading_to_outputs(conditional(), names) == names


@pytest.mark.parametrize("name", ["before", "inside"])
def test_control_flow_on_the_path_is_refused_by_name(name: str) -> None:
    with pytest.raises(UntrainableError, match=r"If \(choice\): .*control flow.*dynamo=True"):
        make_trainable(conditional(), [name, "after"])


def test_control_flow_before_every_trained_parameter_is_allowed() -> None:
    made = conditional()
    assert make_trainable(made, ["after"])[0] is made
