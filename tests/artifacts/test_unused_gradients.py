"""Gradients of frozen parameters and of the input are not computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench.ort.graph.node_statistics import forward_nodes

PRODUCTS = ("FusedMatMul", "Gemm", "MatMul")
LAYERS = ("first", "middle", "last")
WIDTH = 6


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three layers of weights, with biases and ReLU between them."""
    drawn = np.random.default_rng(0)
    nodes, value = [], "x"
    for name in LAYERS:
        nodes += [
            helper.make_node("MatMul", [value, f"{name}.weight"], [f"{name}.product"], name),
            helper.make_node("Add", [f"{name}.product", f"{name}.bias"], [f"{name}.sum"]),
            helper.make_node("Relu", [f"{name}.sum"], [f"{name}.relu"]),
        ]
        value = f"{name}.relu"
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", WIDTH])],
        [
            numpy_helper.from_array(
                drawn.normal(0, 0.5, shape).astype(np.float32), f"{name}.{part}"
            )
            for name in LAYERS
            for part, shape in (("weight", (WIDTH, WIDTH)), ("bias", (WIDTH,)))
        ],
    )
    path = tmp_path_factory.mktemp("network") / "network.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(made, path)
    return path


@pytest.mark.parametrize(
    ("settings", "products"),
    [
        # Of each layer the weight and the input have one, but for the input of the first.
        ({}, 5),
        pytest.param({"requires_grad": ["last.*"]}, 1, marks=pytest.mark.sweep),
        ({"requires_grad": ["middle.*"]}, 2),
        pytest.param({"requires_grad": ["first.*"]}, 3, marks=pytest.mark.sweep),
        pytest.param({"requires_grad": ["first.bias"]}, 2, marks=pytest.mark.sweep),
        # Of an adapter both matrices have a gradient; the input's passes through it and the weight.
        ({"lora": {"rank": 2}}, 3 * 3 + 2 * 2),
    ],
    ids=str,
)
def test_only_paths_to_trained_parameters_have_gradients(
    network: Path, tmp_path: Path, settings: dict[str, Any], products: int
) -> None:
    made = wb.generate_artifacts(
        wb.load_model(network), loss="mse", directory=tmp_path / "artifacts", **settings
    )
    assert made.kernels_model is not None
    for path in (made.training_model, made.kernels_model):
        graph = onnx.load(path).graph
        forward = forward_nodes(graph, [graph.output[0].name])
        backward = [node for index, node in enumerate(graph.node) if index not in forward]
        found = sum(node.op_type in PRODUCTS for node in backward)
        assert found == products, [node.name for node in backward]
        written = {name for node in backward for name in node.output}
        for name in ("x", *made.frozen):
            assert not {each for each in written if each.startswith(f"{name}_grad")}, name
        assert _without_a_reader(graph) == set()


def _without_a_reader(graph: onnx.GraphProto) -> set[str]:
    """Nodes none of whose results anything reads."""
    read = {name for node in graph.node for name in node.input}
    read |= {value.name for value in graph.output}
    return {node.output[0] for node in graph.node if read.isdisjoint(node.output)}
