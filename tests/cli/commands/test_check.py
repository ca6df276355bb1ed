"""`workbench check`, with and without the gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.command import Invoke


def graph(path: Path, op: str) -> Path:
    """y = op(x w) of 3 by 3 matrices, written to `path`."""
    weight = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
    shape = ["batch"] if op == "Det" else ["batch", 3, 3]
    made = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(op, ["h"], ["y"], "last")],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, path)
    return path


def test_a_model_is_checked(workbench: Invoke) -> None:
    outcome = workbench("check", "digits-mlp", "--json")
    assert outcome.status == 0, outcome.stderr
    document = outcome.json
    assert document["ok"] is True
    assert "verification" not in document
    assert "Gemm" in {row["op"] for row in document["ops"]}


def test_the_table_has_one_line_an_op_where_there_is_no_width(
    workbench: Invoke, tmp_path: Path
) -> None:
    outcome = workbench("check", str(graph(tmp_path / "small.onnx", "Sigmoid")))
    assert outcome.status == 0, outcome.stderr
    verdict, header, *lines = outcome.stdout.splitlines()
    assert verdict.startswith("small can be trained with ONNX Runtime. Trainable parameters: ")
    assert header.split()[:3] == ["op", "nodes", "state"]
    assert [line.split() for line in lines] == [
        ["MatMul", "1", "trains"],
        ["Sigmoid", "1", "trains"],
    ]


def test_states_have_colours_in_a_terminal(workbench: Invoke, tmp_path: Path) -> None:
    path = str(graph(tmp_path / "small.onnx", "Sigmoid"))
    assert "\x1b[32mtrains" in workbench("check", path, FORCE_COLOR="1").stdout
    assert "\x1b" not in workbench("check", path).stdout


@pytest.mark.fault
def test_an_untrainable_model_has_an_exit_status(workbench: Invoke, tmp_path: Path) -> None:
    outcome = workbench("check", str(graph(tmp_path / "small.onnx", "Det")), "--verify")
    assert outcome.status == 1
    assert "small cannot be trained with ONNX Runtime." in outcome.stdout
    assert "cannot" in outcome.stdout
    assert "Replace the layer" in outcome.stdout


@pytest.mark.sweep
def test_gradients_are_verified(workbench: Invoke, tmp_path: Path) -> None:
    path = str(graph(tmp_path / "small.onnx", "Tanh"))
    arguments = ("check", path, "--verify", "--loss=mse", "--batch-size=4", "--threads=1")
    outcome = workbench(*arguments, "--json")
    assert outcome.status == 0, outcome.stderr
    document = outcome.json
    assert document["ok"] is True
    assert document["verification"]["batch_size"] == 4
    assert [row["parameter"] for row in document["verification"]["gradients"]] == ["w"]
    text = workbench(*arguments).stdout
    assert "small agrees with finite differences in float64" in text
    assert "ondevice  ok" in text


@pytest.mark.fault
def test_a_wrong_gradient_is_an_exit_status(workbench: Invoke) -> None:
    outcome = workbench("check", "digits-mlp", "--verify", "--engines=fake", "--threads=1")
    assert outcome.status == 1, outcome.stderr
    assert "digits-mlp does not agree with PyTorch" in outcome.stdout
    assert "wrong gradient" in outcome.stdout


@pytest.mark.fault
@pytest.mark.parametrize("option", ["--data=digits", "--engines=ondevice", "--batch-size=4"])
def test_options_of_verification_need_verify(workbench: Invoke, option: str) -> None:
    outcome = workbench("check", "digits-mlp", option)
    assert outcome.status == 1
    assert "requires --verify" in outcome.stderr
