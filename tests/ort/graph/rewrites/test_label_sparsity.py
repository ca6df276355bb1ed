"""Which losses select the rows whose label counts, before their logits are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.ort.graph.memory.memory_plan import memory_plan
from workbench.ort.graph.rewrites.label_sparsity import leave_out_ignored_labels

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
WIDTH, CLASSES, LENGTH = 8, 50, 6


def tagger(
    *,
    places: bool = True,
    reduction: str = "mean",
    ignored: int | None = -100,
    results: tuple[str, ...] = ("loss",),
    labels: int = INT64,
) -> onnx.ModelProto:
    """A linear layer and a loss, of the places of sequences or of samples as they are."""
    attributes = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
    logits, given = ("flat", "flat_labels") if places else ("logits", "labels")
    nodes = [
        helper.make_node("Tanh", ["x"], ["y"]),
        helper.make_node("MatMul", ["y", "w"], ["logits"]),
        helper.make_node(
            *("SoftmaxCrossEntropyLoss", [logits, given], ["loss", "logarithms"]), **attributes
        ),
    ]
    if places:
        nodes[2:2] = [
            helper.make_node("Reshape", ["logits", "rows"], ["flat"]),
            helper.make_node("Reshape", ["labels", "row"], ["flat_labels"]),
        ]
    shape = ["batch", LENGTH] if places else ["batch"]
    constants = {
        "w": np.ones((WIDTH, CLASSES), np.float32),
        "rows": np.array([-1, CLASSES]),
        "row": np.array([-1]),
    }
    graph = helper.make_graph(
        nodes,
        "tagger",
        [
            helper.make_tensor_value_info("x", FLOAT, [*shape, WIDTH]),
            helper.make_tensor_value_info("labels", labels, shape),
        ],
        [
            helper.make_tensor_value_info(name, FLOAT, [] if name == "loss" else None)
            for name in results
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("changes", [{}, {"reduction": "sum"}, {"ignored": 3}], ids=str)
def test_rows_are_selected_before_the_first_layer_of_rows(changes: dict[str, Any]) -> None:
    model = tagger(**changes)
    (loss,) = leave_out_ignored_labels(model)
    onnx.checker.check_model(model, full_check=True)
    assert (loss.operator, loss.node) == ("SoftmaxCrossEntropyLoss", "loss")
    produced = {name: node for node in model.graph.node for name in node.output}
    assert set(loss.added) <= produced.keys()
    tanh = next(node for node in model.graph.node if node.op_type == "Tanh")
    assert produced[tanh.input[0]].op_type == "Gather"
    assert produced["loss"].input[0] == "logits", "rows are flat already"


@pytest.mark.parametrize(
    "changes",
    [
        {"places": False},
        {"reduction": "none"},
        {"ignored": None},
        {"labels": TensorProto.INT32},
        {"results": ("loss", "logits")},
        {"results": ("loss", "flat")},
        {"results": ("loss", "logarithms")},
    ],
    ids=str,
)
def test_a_loss_stays_that_needs_all_logits_or_ignores_no_label(changes: dict[str, Any]) -> None:
    model = tagger(**changes)
    before = model.SerializeToString(deterministic=True)
    assert leave_out_ignored_labels(model) == []
    assert model.SerializeToString(deterministic=True) == before


def test_the_memory_is_that_of_a_batch_whose_labels_all_count() -> None:
    """How many count is not known before a step."""
    plain, sparse = tagger(), tagger()
    leave_out_ignored_labels(sparse)
    bytes_of_all, known = memory_plan(plain, 100), memory_plan(sparse, 100)
    assert known.unknown_values == bytes_of_all.unknown_values == 0
    assert known.resident_bytes >= bytes_of_all.resident_bytes


def written_out(*, pairs: bool = False, gate: bool = False, axis: int = 1) -> onnx.ModelProto:
    """A cross entropy that the user wrote in single operators.

    Args:
        pairs: each row's loss is zero where the label of each other row is ignored.
        gate: rows are chosen by an input of the graph as well.
        axis: along which the labels select.
    """
    loss = "gated" if gate else "column" if pairs else "picked"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["logits"]),
        helper.make_node("Reshape", ["logits", "rows"], ["flat"]),
        helper.make_node("Reshape", ["labels", "row"], ["flat_labels"]),
        helper.make_node("LogSoftmax", ["flat"], ["logarithms"], axis=1),
        helper.make_node("Equal", ["flat_labels", "ignored"], ["equal"]),
        helper.make_node("Where", ["equal", "no_label", "flat_labels"], ["safe"]),
        helper.make_node("Unsqueeze", ["safe", "axis"], ["index"]),
        helper.make_node("GatherElements", ["logarithms", "index"], ["column"], axis=axis),
        helper.make_node("Squeeze", ["column", "axis"], ["picked"]),
        helper.make_node("Where", ["gate", "picked", "zero"], ["gated"]),
        helper.make_node("Where", ["equal", "zero", loss], ["counted"]),
        helper.make_node("ReduceSum", ["counted"], ["loss"], keepdims=0),
    ]
    if not gate:
        del nodes[9]
    if pairs:
        del nodes[8]
    constants = {
        "w": np.ones((WIDTH, CLASSES), np.float32),
        **{"rows": np.array([-1, CLASSES]), "row": np.array([-1]), "axis": np.array([axis])},
        **{"ignored": np.array(-100), "no_label": np.array(0), "zero": np.array(0, np.float32)},
    }
    shape = ["batch", LENGTH]
    graph = helper.make_graph(
        nodes,
        "written_out",
        [
            helper.make_tensor_value_info("x", FLOAT, [*shape, WIDTH]),
            helper.make_tensor_value_info("labels", INT64, shape),
            helper.make_tensor_value_info("gate", TensorProto.BOOL, ["all"]),
        ],
        [helper.make_tensor_value_info("loss", FLOAT, [])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize(
    ("changes", "losses"), [({}, 1), ({"pairs": True}, 0), ({"gate": True}, 0), ({"axis": 0}, 0)]
)
def test_a_loss_stays_that_reads_other_rows(changes: dict[str, Any], losses: int) -> None:
    """Of ignored rows too, which are no longer there."""
    assert len(leave_out_ignored_labels(written_out(**changes))) == losses
