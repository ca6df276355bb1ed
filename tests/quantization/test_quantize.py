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
from workbench.quantization import Quantized, quantize
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
    assert_weights_have_7_bits(made.path)


def assert_weights_have_7_bits(path: Path) -> None:
    """Products of 8 bits overflow on x86 without VNNI, whatever processor this is."""
    stored = [numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer]
    weights = [each for each in stored if each.dtype == np.int8 and each.ndim > 1]
    assert weights
    assert max(np.abs(each.astype(int)).max() for each in weights) == 64


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


@pytest.mark.fault
def test_a_name_that_is_not_of_an_onnx_file_is_refused(convolutional: Run, tmp_path: Path) -> None:
    """Before, a whole model was written under the name of its adapters, and under any other."""
    with pytest.raises(ModelError, match=r"a\.onnx_adapter.*adapters alone.*to an \.onnx file"):
        convolutional.quantize(tmp_path / "a.onnx_adapter")
    for name in ("x", "x.txt", "x.onnx.zip"):
        with pytest.raises(ModelError, match=rf"{name}.* is not the name of an ONNX file.*\.onnx"):
            convolutional.quantize(tmp_path / name)
        with pytest.raises(ModelError, match=r"\.onnx, or \.onnx_adapter for adapters alone"):
            convolutional.export(str(tmp_path / name))
    assert list(tmp_path.glob("[ax]*")) == []


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
    assert_weights_have_7_bits(made.path)
    assert made.int8.loss == pytest.approx(made.float32.loss, abs=0.05)


def linear(folder: Path, weight: np.ndarray, data: Dataset, loss: str) -> Quantized:
    """The last axis of the input times `weight`, quantized."""
    data.save(folder / "data")
    shapes = [
        ["batch", *array.shape[1:-1], columns]
        for array, columns in zip([data.train.inputs[0]] * 2, weight.shape, strict=True)
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weight"], ["output"])],
        "linear",
        [value("rows", onnx.TensorProto.FLOAT, shapes[0])],
        [value("output", onnx.TensorProto.FLOAT, shapes[1])],
        [numpy_helper.from_array(weight, "weight")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def export(path: Path) -> Path:
        onnx.save(model, path)
        return path

    config = make_config({"batch_size": 16, "loss": loss})
    return quantize(export, folder / "int8.onnx", data=folder / "data", config=config)


@pytest.mark.sweep
def test_a_regression_shows_its_errors_and_a_larger_file(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    weight = random.standard_normal((4, 1)).astype(np.float32)
    inputs = random.standard_normal((64, 4)).astype(np.float32)
    noise = 0.3 * random.standard_normal((64, 1))
    targets = (inputs @ weight + noise).astype(np.float32)
    split = Split([inputs], targets)
    made = linear(tmp_path, weight, Dataset("rows", split, split), "mse")
    errors = inputs @ weight - targets
    r2 = 1 - (errors**2).sum() / ((targets - targets.mean()) ** 2).sum()
    assert made.float32.r2 == pytest.approx(r2, abs=1e-5)
    assert made.float32.mean_absolute_error == pytest.approx(np.abs(errors).mean(), abs=1e-5)
    assert made.int8.r2 == pytest.approx(r2, abs=0.03)
    assert made.int8.mean_absolute_error != made.float32.mean_absolute_error
    assert made.test_rows == 64
    assert repr(made).count("test R²") == repr(made).count("test mean absolute error 0.") == 2
    ratio = made.int8.size_bytes / made.float32.size_bytes
    assert f"{ratio:.3g} times as large" in repr(made)
    assert "accuracy" not in repr(made)


def test_a_text_shows_its_perplexity(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    weight = random.standard_normal((4, 3)).astype(np.float32)
    inputs = random.standard_normal((32, 5, 4)).astype(np.float32)
    split = Split([inputs], (inputs @ weight).argmax(axis=-1))
    made = linear(tmp_path, weight, Dataset("text", split, split), "cross_entropy")
    for model in (made.float32, made.int8):
        assert model.loss is not None
        assert model.perplexity == pytest.approx(np.exp(model.loss), rel=1e-6)
        assert f"test perplexity {model.perplexity:.4g}" in repr(made)
    assert made.float32.accuracy == 1


@pytest.mark.sweep
def test_without_a_test_split_there_is_no_accuracy_and_a_notice_says_so(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    weight = random.standard_normal((128, 64)).astype(np.float32)
    split = Split([random.standard_normal((32, 128)).astype(np.float32)], np.arange(32))
    made = linear(tmp_path, weight, Dataset("rows", split), "cross_entropy")
    assert (made.test_rows, made.int8.accuracy, made.int8.loss) == (0, None, None)
    assert "no test split, so no accuracy" in repr(made)
    assert "times as large" not in repr(made)


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
