"""int8 models: smaller, nearly as accurate, and run by today's onnxruntime."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.cli.command import COMMAND
from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.data import Dataset, Split
from workbench.errors import ModelError
from workbench.quantization import quantize
from workbench.runs import Run, train
from workbench.settings.config import make_config


@pytest.fixture(scope="module")
def convolutional(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        return train("digits-cnn", engine="ondevice", steps=60, threads=1).wait(240)


def test_a_convolutional_model_is_quantized_with_rows_of_its_data(
    convolutional: Run, tmp_path: Path
) -> None:
    run = convolutional
    float32 = run.export(tmp_path / "float32.onnx")
    made = run.quantize(tmp_path / "new" / "int8.onnx")
    assert made.method == "static"
    assert made.path == tmp_path / "new" / "int8.onnx"
    assert [path.name for path in made.path.parent.iterdir()] == ["int8.onnx"]
    assert made.float32.size_bytes == float32.stat().st_size
    assert made.int8.size_bytes == made.path.stat().st_size < 0.6 * made.float32.size_bytes
    recorded = run.evaluations.iloc[-1]
    assert made.float32.accuracy == pytest.approx(recorded["accuracy"], abs=1e-12)
    assert made.float32.loss == pytest.approx(recorded["loss"], abs=1e-5)
    assert recorded["accuracy"] > 0.5, "a model that guesses has no accuracy to lose"
    assert made.int8.accuracy is not None
    assert made.int8.accuracy == pytest.approx(recorded["accuracy"], abs=0.03)
    assert made.largest_difference is not None
    assert 0 < made.largest_difference < 1
    assert f"test accuracy {recorded['accuracy']:.2%}" in repr(made)
    data = np.load(run.folder.data_path / "test-input-0.npy")
    plain, both = plain_onnxruntime(), []
    for path in (float32, made.path):
        outputs = plain.run(path, {"image": data}, tmp_path)
        both.append(next(iter(outputs.values())))
    targets = np.load(run.folder.data_path / "test-target.npy")
    accuracy = float((both[1].argmax(axis=1) == targets).mean())
    assert accuracy == pytest.approx(made.int8.accuracy, abs=0.005)
    assert not np.array_equal(both[0], both[1])


@pytest.mark.sweep
def test_the_command_gives_both(convolutional: Run, tmp_path: Path) -> None:
    path = tmp_path / "int8.onnx"
    done = subprocess.run(
        [COMMAND, "export", convolutional.folder.path, path, "--int8", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    record = json.loads(done.stdout)
    assert record["int8"]["size_bytes"] < record["float32"]["size_bytes"]
    assert record["method"] == "static"
    assert Path(record["path"]) == path
    assert path.is_file()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The folder of a dataset of 4 columns and 2 classes."""
    random = np.random.default_rng(0)
    inputs, classes = random.standard_normal((64, 4)), random.integers(0, 2, 64)
    split = Split([inputs.astype(np.float32)], classes)
    Dataset("rows", split, split).save(tmp_path / "data")
    return tmp_path / "data"


CONFIG = make_config({"batch_size": 16, "loss": "cross_entropy"})


def graph_of(path: Path, *nodes: onnx.NodeProto, **weights: np.ndarray) -> Path:
    """A model from `rows`, (batch, 4), to `output`, (batch, classes)."""
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", columns])
        for name, columns in (("rows", 4), ("output", "classes"))
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(list(nodes), "graph", values[:1], values[1:], tensors)
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_a_model_without_convolutions_is_quantized_dynamically(tmp_path: Path, rows: Path) -> None:
    """Also where the weight is transposed, as in exports of `nn.Linear`."""
    weight = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    nodes = (
        helper.make_node("Transpose", ["weight"], ["transposed"], perm=[1, 0]),
        helper.make_node("MatMul", ["rows", "transposed"], ["output"]),
    )
    made = quantize(
        lambda path: graph_of(path, *nodes, weight=weight),
        tmp_path / "int8.onnx",
        data=rows,
        config=CONFIG,
    )
    assert made.method == "dynamic"
    assert "MatMulInteger" in {node.op_type for node in onnx.load(made.path).graph.node}
    assert made.largest_difference is not None
    assert 0 < made.largest_difference < 0.2
    assert made.int8.loss == pytest.approx(made.float32.loss, abs=0.05)


@pytest.mark.fault
def test_a_model_with_nothing_to_quantize_is_refused(tmp_path: Path, rows: Path) -> None:
    node = helper.make_node("Mul", ["rows", "scale"], ["output"])
    with pytest.raises(ModelError, match=r"nothing to quantize.*operators here are Mul\. Export"):
        quantize(
            lambda path: graph_of(path, node, scale=np.full(4, 2, np.float32)),
            tmp_path / "int8.onnx",
            data=rows,
            config=CONFIG,
        )
    assert list(tmp_path.glob("*int8*")) == []
