"""Which nodes become kernels of our own, and which stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.kernels.device_kernels import (
    DOMAIN,
    device_kernel_counts,
    name_as_portable,
    write_device_kernels,
)
from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients

MICROSOFT = "com.microsoft"
FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


def model_of(
    nodes: Sequence[onnx.NodeProto], results: Sequence[str], kind: int = FLOAT, **given: Any
) -> onnx.ModelProto:
    """Inputs have a shape each; a value of an array is a constant."""
    constants = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(
                name, TensorProto.INT64 if name.startswith("i") else kind, shape
            )
            for name, shape in given.items()
            if name not in constants
        ],
        [helper.make_tensor_value_info(name, kind, None) for name in results],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains)


def sum_over(axes: list[int], keepdims: int = 0) -> onnx.ModelProto:
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=keepdims)
    return model_of([node], ["y"], x=[4, 3, 2], axes=np.array(axes))


def normalization(outputs: list[str], kind: int = FLOAT) -> onnx.ModelProto:
    node = helper.make_node("LayerNormalization", ["x", "s", "b"], outputs, axis=-1)
    return model_of([node], ["y"], kind, x=[4, 3], s=[3], b=[3])


def softmax(axis: int) -> onnx.ModelProto:
    node = helper.make_node("SoftmaxGrad_13", ["dy", "y"], ["dx"], domain=MICROSOFT, axis=axis)
    return model_of([node], ["dx"], dy=[4, 3], y=[4, 3])


def gelu(approximate: str) -> onnx.ModelProto:
    node = helper.make_node("Gelu", ["x"], ["y"], approximate=approximate)
    return model_of([node], ["y"], x=[4, 3])


def gathered(axis: int) -> onnx.ModelProto:
    node = helper.make_node("GatherGrad", ["i", "ix", "dy"], ["dx"], domain=MICROSOFT, axis=axis)
    return model_of([node], ["dx"], i=[2], ix=[4], dy=[4, 3])


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (sum_over([0, 1]), "ColumnSum"),
        (sum_over([-3]), "ColumnSum"),
        (sum_over([1]), None),
        (sum_over([0], keepdims=1), None),
        (normalization(["y", "m", "d"]), "LayerNormalization"),
        (normalization(["y"]), None),
        (normalization(["y", "m", "d"], DOUBLE), None),
        (softmax(1), "SoftmaxGradient"),
        (softmax(0), None),
        (gelu("none"), "Gelu"),
        (gelu("tanh"), None),
        (gathered(0), "EmbeddingGradient"),
        (gathered(1), None),
    ],
)
def test_only_supported_nodes_become_kernels(model: onnx.ModelProto, kernel: str | None) -> None:
    before = model.SerializeToString()
    replaced = write_device_kernels(model)
    assert device_kernel_counts(model) == ({} if kernel is None else {kernel: 1})
    if kernel is None:
        assert replaced == {}
        assert model.SerializeToString() == before
    else:
        assert any(entry.domain == DOMAIN for entry in model.opset_import)
        assert list(replaced) == [model.graph.output[0].name]


def test_a_kernel_has_the_name_of_the_portable_node_of_its_result() -> None:
    kernels, portable = gathered(0), gathered(0)
    write_device_kernels(kernels)
    write_standard_gradients(portable)
    name_as_portable(kernels.graph, portable.graph)
    assert kernels.graph.node[0].name == portable.graph.node[-1].name != ""
    assert kernels.graph.node[0].output == portable.graph.node[-1].output


def layer(bias: list[int], *, summed: bool = True, read_again: bool = False) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Add", ["b", "x"], ["s"]),
        helper.make_node("Gelu", ["s"], ["y"]),
        helper.make_node("GeluGrad", ["dy", "s"], ["dx"], domain=MICROSOFT),
    ]
    if summed:
        nodes.append(helper.make_node("ReduceSum", ["dx", "axes"], ["db"], keepdims=0))
    if read_again:
        nodes.append(helper.make_node("Neg", ["s"], ["other"]))
    results = ["y", "dx", *["db"] * summed, *["other"] * read_again]
    return model_of(nodes, results, x=[4, 3, 2], b=bias, dy=[4, 3, 2], axes=np.array([0, 1]))


def test_a_bias_belongs_to_its_gelu() -> None:
    model = layer([2])
    write_device_kernels(model)
    forward, backward = model.graph.node
    assert (forward.op_type, list(forward.input)) == ("BiasGelu", ["x", "b"])
    assert (backward.op_type, list(backward.input)) == ("BiasGeluGradient", ["dy", "x", "b"])
    assert list(backward.output) == ["dx", "db"]


def test_a_frozen_bias_has_no_sum() -> None:
    model = layer([2], summed=False)
    write_device_kernels(model)
    assert device_kernel_counts(model) == {"BiasGelu": 1, "BiasGeluGradient": 1}


@pytest.mark.parametrize("model", [layer([2], read_again=True), layer([3, 2]), layer([1])])
def test_another_sum_is_computed_apart(model: onnx.ModelProto) -> None:
    write_device_kernels(model)
    assert device_kernel_counts(model) == {"Gelu": 1, "GeluGradient": 1, "ColumnSum": 1}
