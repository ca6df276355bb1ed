"""Which cross entropy becomes a kernel of our own."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def loss_of(
    *,
    shape: tuple[int, ...] = (4, 3),
    weights: bool = False,
    reduction: str = "mean",
    ignored: int | None = -100,
    ignored_back: int | None = -100,
    results: tuple[str, ...] = ("loss", "dx"),
    labels: int = INT64,
) -> onnx.ModelProto:
    given = ["x", "labels", *["weights"] * weights]
    attributes, back = (
        {"reduction": reduction} | ({} if index is None else {"ignore_index": index})
        for index in (ignored, ignored_back)
    )
    nodes = [
        helper.make_node("SoftmaxCrossEntropyLoss", given, ["loss", "logs"], "loss", **attributes),
        helper.make_node(
            *("SoftmaxCrossEntropyLossGrad", ["dloss", "logs", *given[1:]], ["dx"], "back"),
            domain="com.microsoft",
            **back,
        ),
    ]
    if "y" in results:
        nodes.append(helper.make_node("Neg", ["dx"], ["y"]))
    inputs: list[tuple[str, int, Any]] = [
        ("x", FLOAT, shape),
        ("labels", labels, (shape[0], *shape[2:])),
        ("weights", FLOAT, shape[1:2]),
        ("dloss", FLOAT, ()),
    ]
    graph = helper.make_graph(
        nodes,
        "loss",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in results],
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains)


@pytest.mark.parametrize(
    ("changes", "weights", "attributes"),
    [
        ({}, "constant.real..1.0", {"mean": 1, "ignore_index": -100}),
        ({"ignored": None, "ignored_back": None}, "constant.real..1.0", {"mean": 1}),
        ({"weights": True, "reduction": "sum"}, "weights", {"mean": 0, "ignore_index": -100}),
    ],
)
def test_cross_entropy_becomes_two_kernels(
    changes: dict[str, Any], weights: str, attributes: dict[str, int]
) -> None:
    model = loss_of(**changes)
    write_device_kernels(model)
    forward, backward = model.graph.node
    assert list(forward.input) == ["x", "labels", weights]
    assert list(backward.input) == ["dloss", *forward.input, *forward.output[1:]]
    assert (forward.output[0], list(backward.output)) == ("loss", ["dx"])
    for node in (forward, backward):
        assert {each.name: each.i for each in node.attribute} == attributes


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (4, 3, 2)},
        {"reduction": "none"},
        {"ignored_back": -1},
        {"results": ("loss", "dx", "logs")},
        {"labels": TensorProto.INT32},
    ],
    ids=str,
)
def test_nodes_that_the_kernels_do_not_support_stay(changes: dict[str, Any]) -> None:
    model = loss_of(**changes)
    write_device_kernels(model)
    assert device_kernel_counts(model) == {}


def test_the_gradient_has_the_sizes_of_the_scores_so_that_it_may_take_their_place() -> None:
    model = loss_of(results=("loss", "y"))
    write_device_kernels(model)
    [stated] = [value for value in model.graph.value_info if value.name == "dx"]
    assert [size.dim_value for size in stated.type.tensor_type.shape.dim] == [4, 3]


@pytest.mark.parametrize(("shape", "nodes"), [((4, 3), 2), ((4, 3, 2), 0)])
def test_the_labels_tell_the_rank_of_the_scores(shape: tuple[int, ...], nodes: int) -> None:
    """Nothing states that of a network's output, once it is no output of the graph."""
    model = loss_of(shape=shape)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    write_device_kernels(model)
    assert sum(device_kernel_counts(model).values()) == nodes
