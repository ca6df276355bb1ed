"""Graphs in float64, some of whose operators ONNX Runtime has no float64 kernel of."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.forked import outcome
from workbench.errors import EngineError
from workbench.ort.graph.inference import InferenceSession
from workbench.verification.mixed_run import WITHOUT_FLOAT64, MixedRun


def graph(*ops: str) -> onnx.ModelProto:
    """y = sum(op(... op(x) w)), float64."""
    names = ["x", *(f"v{index}" for index in range(len(ops)))]
    nodes = [
        helper.make_node(op, [before], [after])
        for op, before, after in zip(ops, names, names[1:], strict=False)
    ]
    nodes += [
        helper.make_node("Mul", [names[-1], "w"], ["m"]),
        helper.make_node("ReduceSum", ["m"], ["y"], keepdims=0),
    ]
    made = helper.make_graph(
        nodes,
        "pieces",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [])],
        [numpy_helper.from_array(np.array([1.0, -0.5]), "w")],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_pieces_equal_the_whole_graph_in_double_precision() -> None:
    x = np.array([[0.3, -0.2], [1e-9, 0.7]])
    found = outcome(lambda: MixedRun(graph("Tanh", "Erf", "Erf", "Exp"), 1).run({"x": x}))
    inner = np.exp([[math.erf(math.erf(math.tanh(value))) for value in row] for row in x])
    assert found == pytest.approx(float((inner * [1.0, -0.5]).sum()), rel=1e-14)


@pytest.mark.fault
@pytest.mark.parametrize("op", ["Erf", "Softplus", "HardSwish", "Elu", "LeakyRelu"])
def test_onnx_runtime_lacks_the_listed_float64_kernels(op: str) -> None:
    """And a session says so instead of running it."""
    assert op in WITHOUT_FLOAT64
    whole = graph(op).SerializeToString()
    said = outcome(lambda: InferenceSession(whole, 1).run({"x": np.zeros((1, 2))}))
    assert said.startswith(f"{EngineError.__name__}: ONNX Runtime cannot run this graph:")
    assert "NOT_IMPLEMENTED" in said
