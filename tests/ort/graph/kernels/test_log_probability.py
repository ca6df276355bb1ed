"""Which LogSoftmax becomes a kernel of our own."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
ROWS, CLASSES = 4, 7


def loss_of(
    *,
    rank: int = 2,
    axis: int = -1,
    taken: int = 1,
    labelled: int = ROWS,
    other_labels: bool = False,
    unsqueezed: bool = False,
    results: tuple[str, ...] = ("value", "dx"),
) -> onnx.ModelProto:
    """Both passes of log_softmax and gather, as ONNX Runtime builds them."""
    back = {"domain": "com.microsoft", "axis": axis}
    nodes = [
        helper.make_node("LogSoftmax", ["x"], ["logs"], "softmax", axis=axis),
        helper.make_node("Shape", ["logs"], ["shape"], "shape"),
        helper.make_node("GatherElements", ["logs", "labels"], ["value"], "gather", axis=axis),
        helper.make_node(
            *("GatherElementsGrad", ["dvalue", "shape", "others" if other_labels else "labels"]),
            *(["dlogs"], "spread"),
            **back,
        ),
        helper.make_node("LogSoftmaxGrad_13", ["dlogs", "logs"], ["dx"], "back", **back),
    ]
    shape = (3,) * (rank - 2) + (ROWS, CLASSES)
    labels = (*shape[:-2], labelled, taken)
    inputs: list[tuple[str, int, Any]] = [
        ("x", FLOAT, shape),
        ("flat" if unsqueezed else "labels", INT64, labels[:-1] if unsqueezed else labels),
        ("others", INT64, labels),
        ("dvalue", FLOAT, labels),
    ]
    constants = []
    if unsqueezed:
        nodes.insert(0, helper.make_node("Unsqueeze", ["flat", "last"], ["labels"], "unsqueeze"))
        constants = [helper.make_tensor("last", INT64, [1], [rank - 1])]
    graph = helper.make_graph(
        nodes,
        "loss",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [
            helper.make_tensor_value_info(name, INT64 if name == "shape" else FLOAT, None)
            for name in results
        ],
        constants,
    )
    domains = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains)


@pytest.mark.parametrize(
    "changes", [{}, {"axis": 1}, {"axis": 1, "unsqueezed": True}, {"rank": 3}], ids=str
)
def test_one_class_of_each_row_takes_two_kernels(changes: dict[str, Any]) -> None:
    model = loss_of(**changes)
    write_device_kernels(model)
    cast, forward, backward = (node for node in model.graph.node if node.name != "unsqueeze")
    assert (cast.op_type, list(cast.input)) == ("Cast", ["labels"])
    assert list(forward.input) == ["x", *cast.output]
    assert list(backward.input) == ["dvalue", "x", *cast.output, *forward.output[1:]]
    assert (forward.output[0], list(backward.output)) == ("value", ["dx"])


@pytest.mark.parametrize(
    "changes",
    [
        {"axis": 0},
        {"rank": 3, "axis": 1},
        {"taken": 2},
        {"labelled": 2},
        {"other_labels": True},
        {"results": ("value", "dx", "logs")},
        {"results": ("value", "dx", "dlogs")},
        {"results": ("value", "dx", "shape")},
    ],
    ids=str,
)
def test_nodes_that_the_kernels_do_not_support_stay(changes: dict[str, Any]) -> None:
    model = loss_of(**changes)
    write_device_kernels(model)
    assert "LogProbability" not in device_kernel_counts(model)


def test_the_gradient_has_the_sizes_of_the_scores_so_that_it_may_take_their_place() -> None:
    model = loss_of()
    model.graph.output[1].name = "y"
    model.graph.node.append(helper.make_node("Neg", ["dx"], ["y"]))
    write_device_kernels(model)
    [stated] = [value for value in model.graph.value_info if value.name == "dx"]
    assert [size.dim_value for size in stated.type.tensor_type.shape.dim] == [ROWS, CLASSES]
