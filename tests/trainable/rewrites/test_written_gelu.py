"""The tanh form of GELU, written operator by operator, becomes one node where it is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.trainable import make_trainable

CONSTANTS = {
    **{"half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0},
    **{"cubic": 0.044715, "root": 0.7978845608},
}

Nodes = Sequence[tuple[str, str, str]]
"""Operator, inputs, output."""

CUBE: Nodes = (
    ("MatMul", "x w", "h"),
    ("Mul", "half h", "first"),
    ("Pow", "h three", "cube"),
    ("Mul", "cube cubic", "term"),
    ("Add", "h term", "sum"),
    ("Mul", "sum root", "inner"),
    ("Tanh", "inner", "bent"),
    ("Add", "one bent", "raised"),
    ("Mul", "first raised", "y"),
)
"""As GPT-2 has it."""
SQUARE: Nodes = (
    ("MatMul", "x w", "h"),
    ("Mul", "h half", "first"),
    ("Mul", "h root", "slope"),
    ("Mul", "h cubic", "term"),
    ("Mul", "term h", "squared"),
    ("Add", "squared one", "sum"),
    ("Mul", "slope sum", "inner"),
    ("Tanh", "inner", "bent"),
    ("Add", "bent one", "raised"),
    ("Mul", "first raised", "y"),
)
"""As BLOOM and `gelu_fast` have it."""
HALF: Nodes = (
    ("MatMul", "x w", "h"),
    ("Mul", "h h", "squared"),
    ("Mul", "squared h", "cube"),
    ("Mul", "cubic cube", "term"),
    ("Add", "term h", "sum"),
    ("Mul", "root sum", "inner"),
    ("Tanh", "inner", "bent"),
    ("Add", "bent one", "raised"),
    ("Div", "h two", "first"),
    ("Mul", "raised first", "y"),
)
"""With products for the power and a division."""


def written(nodes: Nodes = CUBE, **changes: float) -> onnx.ModelProto:
    """0.5 h (1 + tanh(root (h + cubic h³))) of a product h, with some constants changed."""
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


def operators(
    model: onnx.ModelProto, trained: Sequence[str] = ("w",), state: Sequence[str] = ()
) -> list[str]:
    return [node.op_type for node in make_trainable(model, trained, state)[0].graph.node]


@pytest.mark.parametrize("nodes", [CUBE, SQUARE, HALF], ids=["cube", "square", "half"])
def test_it_is_one_node_without_its_constants(nodes: Nodes) -> None:
    made, report = make_trainable(written(nodes), ["w"])
    assert [node.op_type for node in made.graph.node] == ["MatMul", "FastGelu", "Identity"]
    unused = {"w", *CONSTANTS} - {name for _, given, _ in nodes for name in given.split()}
    assert {tensor.name for tensor in made.graph.initializer} == {"w", *unused}
    assert {finding.note for finding in report.rewritten} == {
        "written, with the nodes around it, as FastGelu"
    }


@pytest.mark.parametrize(
    ("nodes", "constant"),
    [
        (nodes, name)
        for nodes in (CUBE, SQUARE, HALF)
        for name in sorted(CONSTANTS)
        if any(name in given.split() for _, given, _ in nodes)
    ],
)
def test_with_another_number_it_stays(nodes: Nodes, constant: str) -> None:
    assert "FastGelu" not in operators(written(nodes, **{constant: CONSTANTS[constant] * 1.01}))


def test_with_a_parameter_or_buffer_in_place_of_a_number_it_stays() -> None:
    """Which is that number at first: of a learnt GELU, or one that is changed between steps."""
    assert "FastGelu" not in operators(written(), ["w", "cubic"])
    assert "FastGelu" not in operators(written(), ["w"], ["cubic"])
    assert "FastGelu" in operators(written(), ["w"], ["another"])


@pytest.mark.parametrize("read", ["first", "cube", "term", "sum", "inner", "bent", "raised"])
def test_where_something_else_reads_a_value_between_it_stays(read: str) -> None:
    model = written()
    model.graph.output.append(helper.make_tensor_value_info(read, TensorProto.FLOAT, None))
    assert "FastGelu" not in operators(onnx.shape_inference.infer_shapes(model))
