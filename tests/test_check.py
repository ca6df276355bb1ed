"""`wb.check` tells what trains, what is rewritten and what cannot, without running it."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench.check import Check


@pytest.fixture(scope="module")
def cnn() -> Check:
    return wb.check(wb.load_model("digits-cnn"))


def test_a_sample_trains(cnn: Check) -> None:
    assert cnn.ok
    rows = {row.op: row for row in cnn.ops}
    assert rows["Conv"].state == "trains"
    assert rows["BatchNormalization"].state == "rewritten"
    assert rows["BatchNormalization"].count == 2


def test_as_a_frame_as_text_and_as_json(cnn: Check) -> None:
    assert list(cnn.frame.columns) == ["op", "count", "state", "note", "remedy", "layers"]
    assert len(cnn.frame) == len(cnn.ops)
    assert str(cnn).startswith("digits-cnn trains with ONNX Runtime.\n")
    assert json.loads(json.dumps(cnn.to_dict()))["ok"] is True


def test_what_cannot_train_says_why_and_what_to_do() -> None:
    from torch import nn

    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(18, 2))
    model = wb.load_model(module, example_inputs=(np.zeros((2, 1, 8, 8), np.float32),))
    found = wb.check(model)
    assert not found.ok
    pool = next(row for row in found.ops if row.op == "AveragePool")
    assert pool.state == "cannot"
    assert "SIGFPE" in pool.note
    assert "Use MaxPool" in pool.remedy
    assert pool.layers == "1"
    assert "cannot be trained" in str(found)
    assert wb.check(model, requires_grad=["3.*"]).ok


def test_a_graph_can_be_checked_as_it_is() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Selu", ["h"], ["y"]),
        ],
        "bare",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [numpy_helper.from_array(np.ones((2, 2), np.float32), "w")],
    )
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    )
    found = wb.check(model)
    assert [(row.op, row.state) for row in found.ops] == [("MatMul", "trains"), ("Selu", "cannot")]
