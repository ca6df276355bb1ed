"""`wb.check` tells what trains, what is rewritten and what cannot, without running it."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import workbench as wb
from tests.fork_server import forked
from workbench.check import Check
from workbench.errors import ConfigError
from workbench.export.export import ONE_AT_A_TIME

ROOT = Path(__file__).parents[2]

CHECKS = {
    "graph": "found = wb.check({!r})",
    "module": "found = wb.check('digits-cnn')",
    "child": "from workbench.check.checked_model import check_model\n"
    "found = check_model(wb.load_model('digits-cnn'), None, None)",
}


@pytest.fixture(scope="module")
def cnn() -> Check:
    return wb.check(wb.load_model("digits-cnn"))


def test_a_sample_trains(cnn: Check) -> None:
    assert cnn.ok
    rows = {row.op: row for row in cnn.ops}
    assert rows["Conv"].state == "trains"
    assert rows["BatchNormalization"].state == "rewritten"
    assert rows["BatchNormalization"].count == 2
    by_layer = cnn.by_layer()
    assert list(by_layer) == ["norm1", "pool1", "norm2", "pool2"], "as the training graph marks"
    assert {one.state for layer in by_layer.values() for one in layer} == {"rewritten"}


def test_as_a_frame_as_text_and_as_json(cnn: Check) -> None:
    assert list(cnn.frame.columns) == ["op", "count", "state", "note", "remedy", "layers"]
    assert len(cnn.frame) == len(cnn.ops)
    assert str(cnn).startswith(
        "digits-cnn can be trained with ONNX Runtime; 4 nodes are rewritten. "
        "Trainable parameters: 6,138 of 6,138 elements.\n"
    )
    assert repr(cnn) == str(cnn)
    page = cnn._repr_html_()
    assert "digits-cnn can be trained" in page
    assert "normalizes by the batch while it trains and updates the running statistics" in page
    assert json.loads(json.dumps(cnn.to_dict()))["ok"] is True


class Determinant(nn.Module):
    """(batch, 9) -> (batch, 1): the determinants of 3 by 3 matrices."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.linalg.det(x.reshape(-1, 3, 3))[:, None]
        return result


def test_untrainable_operators_have_a_reason_and_a_remedy() -> None:
    module = nn.Sequential(nn.Linear(4, 9), Determinant(), nn.Linear(1, 2))
    model = wb.load_model(module, example_inputs=np.zeros((2, 4), np.float32))
    found = wb.check(model)
    assert not found.ok
    determinant = next(row for row in found.ops if row.op == "Det")
    assert determinant.state == "cannot"
    assert determinant.note == "ONNX Runtime has no gradient for it."
    assert determinant.remedy.startswith("Replace the layer")
    assert determinant.layers == "1"
    assert "In 1." in determinant.details
    assert "cannot be trained" in str(found)
    assert wb.check(model, requires_grad=["2.*"]).ok


def test_a_graph_can_be_checked_as_it_is() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Det", ["h"], ["y"]),
        ],
        "bare",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"])],
        [numpy_helper.from_array(np.ones((2, 2), np.float32), "w")],
    )
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    )
    found = wb.check(model)
    assert [(row.op, row.state) for row in found.ops] == [("MatMul", "trains"), ("Det", "cannot")]
    assert [one.op for one in found.by_layer()["y"]] == ["Det"], "a node is its own layer"


@pytest.mark.parametrize("kind", CHECKS)
def test_nothing_native_is_called(kind: str, tmp_path: Path) -> None:
    """ONNX Runtime is not even loaded, and torch by the process alone that exports a module."""
    source = wb.load_model("digits-cnn").export(tmp_path / "cnn.onnx") if kind == "graph" else ""
    program = (
        "import json, sys, workbench as wb\n"
        "from tests.fork_server import fork_children\n"
        "fork_children()\n"
        f"{CHECKS[kind].format(str(source))}\n"
        "loaded = [name for name in ('torch', 'onnxruntime') if name in sys.modules]\n"
        "print(json.dumps([found.ok, loaded]))"
    )
    python = forked() if kind == "child" else [sys.executable]
    done = subprocess.run(
        [*python, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    expected = ["torch"] if kind == "child" else []
    assert json.loads(done.stdout) == [True, expected]


@pytest.mark.parametrize(
    ("source", "engine"),
    [
        ("sample", "ortmodule"),
        ("module", "ondevice"),
        pytest.param("sample", "ondevice", marks=pytest.mark.sweep),
        pytest.param("module", "ortmodule", marks=pytest.mark.sweep),
    ],
)
def test_training_takes_the_graph_that_was_checked(
    source: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the first run of a model that the page shows starts without an export."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.Tanh())
    model = (
        wb.load_model("digits-cnn")
        if source == "sample"
        else wb.load_model(module, example_inputs=np.zeros((2, 1, 8, 8), np.float32))
    )
    assert wb.check(model).ok
    run = wb.train(model, "digits", engine=engine, loss="cross_entropy", steps=2)
    run.wait()
    assert run.status == "completed", run.error
    assert run.statistics is not None
    assert run.statistics.graphs[0].cache_s is not None, run.statistics


def test_errors_of_the_child_are_those_of_the_caller() -> None:
    with pytest.raises(ConfigError, match="nothing"):
        wb.check(wb.load_model("digits-mlp"), requires_grad=["nothing.*"])


def test_a_checked_module_is_exported_beside_other_work_with_torch() -> None:
    """In this process an export would replace what a scan or `torch.compile` is using."""
    with ONE_AT_A_TIME, ThreadPoolExecutor(1) as pool:
        model = wb.load_model("digits-autoencoder")
        assert pool.submit(wb.check, model).result(120).ok
