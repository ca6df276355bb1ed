"""The tanh form of GELU, written operator by operator, becomes one node where it is one."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.trainable import make_trainable

CONSTANTS = {"half": 0.5, "one": 1.0, "cubic": 0.044715, "root": 0.7978845608, "three": 3.0}


def written(**changes: float) -> onnx.ModelProto:
    """0.5 h (1 + tanh(root (h + cubic h³))) of a product h, with some constants changed."""
    nodes = [
        ("MatMul", "x w", "h"),
        ("Mul", "half h", "first"),
        ("Pow", "h three", "cube"),
        ("Mul", "cube cubic", "term"),
        ("Add", "h term", "sum"),
        ("Mul", "sum root", "inner"),
        ("Tanh", "inner", "bent"),
        ("Add", "one bent", "raised"),
        ("Mul", "first raised", "y"),
    ]
    constants = {**CONSTANTS, **changes}
    graph = helper.make_graph(
        [helper.make_node(op, given.split(), [made], made) for op, given, made in nodes],
        "gelu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
            *(numpy_helper.from_array(np.float32(v), name) for name, v in constants.items()),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in make_trainable(model, ["w"])[0].graph.node]


def test_it_is_one_node_without_its_constants() -> None:
    made, report = make_trainable(written(), ["w"])
    assert [node.op_type for node in made.graph.node] == ["MatMul", "FastGelu", "Identity"]
    assert [tensor.name for tensor in made.graph.initializer] == ["w"]
    assert {finding.note for finding in report.rewritten} == {
        "written, with the nodes around it, as FastGelu"
    }


@pytest.mark.parametrize("constant", sorted(CONSTANTS))
def test_with_another_number_it_stays(constant: str) -> None:
    assert "FastGelu" not in operators(written(**{constant: CONSTANTS[constant] * 1.01}))


@pytest.mark.parametrize("read", ["first", "cube", "term", "sum", "inner", "bent", "raised"])
def test_where_something_else_reads_a_value_between_it_stays(read: str) -> None:
    model = written()
    model.graph.output.append(helper.make_tensor_value_info(read, TensorProto.FLOAT, None))
    assert "FastGelu" not in operators(onnx.shape_inference.infer_shapes(model))
