"""Which values of a gradient graph its backward pass reads, through other names of their memory."""

from __future__ import annotations

from onnx import TensorProto, helper

from workbench.ort.ortmodule.differentiate.backward_reads import backward_reads


def test_views_are_read_and_shapes_are_not() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Reshape", ["y", "rows"], ["flat"]),
        helper.make_node("Exp", ["y"], ["z"]),
        helper.make_node("YieldOp", ["y", "z"], ["dy", "dz"], domain="com.microsoft"),
        helper.make_node("Mul", ["flat", "dy"], ["a"]),
        helper.make_node("Shape", ["z"], ["size"]),
        helper.make_node("Reshape", ["dz", "size"], ["b"]),
        helper.make_node("MatMul", ["a", "w"], ["dx"]),
    ]
    floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "w")]
    given = [*floats, helper.make_tensor_value_info("rows", TensorProto.INT64, [1])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("dx", "b")]
    model = helper.make_model(helper.make_graph(nodes, "both", given, outputs))
    read = backward_reads(model.SerializeToString(), ["x", "w", "y", "z"])
    assert read == {"w", "y"}
