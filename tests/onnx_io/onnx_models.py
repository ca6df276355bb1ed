"""Small ONNX models, made by hand, for the tests of this folder."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def tensor(name: str, shape: list[int | str | None], kind: int = TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs, initializers, *, opset: int = 20, ir_version: int = 9):
    """A checked-looking model; what is wrong with it is up to the caller."""
    graph = helper.make_graph(
        nodes,
        "graph",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = ir_version
    return made


def mlp(batch: int | str | None = "n", **versions: int) -> onnx.ModelProto:
    """(batch, 4) float32 through Gemm, Relu, Gemm to (batch, 3)."""
    return model(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="first", transB=1),
            helper.make_node("Relu", ["h"], ["r"], name="relu"),
            helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], name="second", transB=1),
        ],
        [tensor("x", [batch, 4])],
        [tensor("y", [batch, 3])],
        {"w1": weight(8, 4), "b1": weight(8), "w2": weight(3, 8), "b2": weight(3)},
        **versions,
    )


def traps() -> onnx.ModelProto:
    """Every kind of float constant that is no parameter, about two that are."""
    return model(
        [
            helper.make_node("Gather", ["table", "ids"], ["e"], name="embed"),
            helper.make_node("Mul", ["e", "scale"], ["m"]),
            helper.make_node("Add", ["m", "mask"], ["a"]),
            helper.make_node("Clip", ["a", "low"], ["c"]),
            helper.make_node("Shape", ["c"], ["s"]),
            helper.make_node("Reshape", ["c", "channels"], ["t"]),
            helper.make_node(
                "BatchNormalization", ["t", "gain", "gain", "mean", "var"], ["y"], name="norm"
            ),
        ],
        [tensor("ids", [None, 5], TensorProto.INT64)],
        [tensor("y", None), tensor("s", [3], TensorProto.INT64)],
        {
            "table": weight(7, 6),
            "scale": np.float32(0.5),
            "mask": np.full((5, 6), -np.inf, np.float32),
            "low": np.float32(-1),
            "channels": np.array([-1, 6, 5]),
            "gain": weight(6),
            "mean": weight(6),
            "var": np.abs(weight(6)),
            "unused": weight(3),
        },
    )
