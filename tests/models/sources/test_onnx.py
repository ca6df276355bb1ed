"""Models loaded from an ONNX file alone."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from torch import nn

from tests.onnx_io.onnx_models import mlp, tensor, traps, weight
from tests.onnx_io.onnx_models import model as small_model
from workbench.data import Dataset, Split, check_fit
from workbench.errors import DataError, ModelError
from workbench.load import load_model
from workbench.models import Layer, Model, TensorSpec, load_saved


def loaded(folder: Path, made: onnx.ModelProto, name: str = "model.onnx") -> Model:
    (folder / name).write_bytes(made.SerializeToString())
    return load_model(str(folder / name))


def test_inputs_outputs_and_parameters(tmp_path: Path) -> None:
    model = loaded(tmp_path, mlp(), "small.onnx")
    assert model.name == "small"
    assert not model.has_module
    assert model.inputs == (TensorSpec("x", ("batch", 4), "float32"),)
    assert model.outputs == (TensorSpec("y", ("batch", 3), "float32"),)
    assert model.parameters == {"w1": (8, 4), "b1": (8,), "w2": (3, 8), "b2": (3,)}
    assert (model.parameter_count, model.parameter_bytes) == (67, 268)
    assert [array.shape for array in model.example_inputs()] == [(2, 4)]
    assert model.defaults == {}
    assert model.dataset is None


def test_layers(tmp_path: Path) -> None:
    assert loaded(tmp_path, mlp()).layers() == [
        Layer("first", "Gemm", ("batch", 8), 40, 160, 32),
        Layer("relu", "Relu", ("batch", 8), 0, 0),
        Layer("second", "Gemm", ("batch", 3), 27, 108, 24),
    ]


def test_multiply_adds_are_those_of_the_same_module(tmp_path: Path) -> None:
    window: dict[str, Any] = {"stride": 2, "padding": 1}
    layers = {
        "strided": nn.Conv2d(4, 6, 3, **window),
        "grouped": nn.Conv2d(6, 6, 3, groups=3),
        "transposed": nn.ConvTranspose2d(6, 4, 3, **window, output_padding=1, groups=2),
        "flat": nn.Flatten(2),
        "along": nn.Conv1d(4, 5, 3, dilation=2),
        "mixed": nn.Linear(60, 7),
        "flat_rows": nn.Flatten(),
        "output": nn.Linear(35, 3),
    }
    module = nn.Sequential(OrderedDict(layers))
    node = onnx.helper.make_node
    strides: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    shape: dict[str, Any] = {"group": 2, "output_padding": [1, 1]}
    nodes = [
        node("Conv", ["x", "strided.weight"], ["a"], **strides),
        node("Conv", ["a", "grouped.weight"], ["b"], group=3),
        node("ConvTranspose", ["b", "transposed.weight"], ["c"], **strides, **shape),
        node("Reshape", ["c", "flat"], ["d"]),
        node("Conv", ["d", "along.weight"], ["e"], dilations=[2]),
        node("MatMul", ["e", "mixed.weight"], ["f"]),
        node("Flatten", ["f"], ["g"]),
        node("Gemm", ["g", "output.weight"], ["y"], transB=1),
    ]
    weights = {name: value.detach().numpy() for name, value in module.named_parameters()}
    weights = {name: value for name, value in weights.items() if name.endswith("weight")}
    weights["mixed.weight"] = weights["mixed.weight"].T.copy()
    weights["flat"] = np.array([0, 4, 64])
    x, y = tensor("x", ["n", 4, 12, 12]), tensor("y", ["n", 3])
    models = (
        load_model(module, example_inputs=np.zeros((2, 4, 12, 12), np.float32)),
        loaded(tmp_path, small_model(nodes, [x], [y], weights)),
    )
    counts = [
        [layer.multiply_adds for layer in model.layers() if layer.multiply_adds is not None]
        for model in models
    ]
    # Of the transposed convolution each of 6 · 4 · 4 inputs, of the others each output.
    transposed = 6 * 4 * 4 * 2 * 3 * 3
    strided, grouped = 6 * 6 * 6 * 4 * 3 * 3, 6 * 4 * 4 * 2 * 3 * 3
    along, mixed, output = 5 * 60 * 4 * 3, 5 * 7 * 60, 3 * 35
    assert counts[0] == counts[1] == [strided, grouped, transposed, along, mixed, output]


def test_multiply_adds_of_products_and_where_a_shape_is_unknown(tmp_path: Path) -> None:
    made = small_model(
        [
            onnx.helper.make_node("Gemm", ["w", "v"], ["g"], transA=1),
            onnx.helper.make_node("MatMul", ["x", "g"], ["y"]),
        ],
        [tensor("x", ["n", "length", 5])],
        [tensor("y", ["n", "length", 3])],
        {"w": weight(4, 5), "v": weight(4, 3)},
    )
    assert [layer.multiply_adds for layer in loaded(tmp_path, made).layers()] == [5 * 3 * 4, None]


def test_multiply_adds_are_of_one_row_also_where_the_batch_is_fixed(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    made = small_model(
        [make("MatMul", ["v", "w"], ["g"]), make("MatMul", ["x", "g"], ["y"])],
        [tensor("x", [6, 2, 5])],
        [tensor("y", [6, 2, 3])],
        {"v": weight(5, 4), "w": weight(4, 3)},
    )
    found = [layer.multiply_adds for layer in loaded(tmp_path, made).layers()]
    assert found == [5 * 4 * 3, 2 * 5 * 3]


def test_constants_are_no_parameters(tmp_path: Path) -> None:
    model = loaded(tmp_path, traps())
    assert model.parameters == {"table": (7, 6), "gain": (6,)}
    assert set(model.weights()) == {"table", "gain", "mean", "var"}
    assert model.inputs[0] == TensorSpec("ids", ("batch", 5), "int64")
    assert model.example_inputs()[0].tolist() == [[0] * 5] * 2
    layers = model.layers()
    assert [layer.kind for layer in layers] == [
        "Gather",
        "Mul",
        "Add",
        "Clip",
        "Reshape",
        "BatchNormalization",
    ]
    assert sum(layer.parameters for layer in layers) == model.parameter_count == 48


@pytest.mark.fault
def test_there_is_no_module(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r'was loaded from an ONNX file.*engine "ondevice"'):
        loaded(tmp_path, mlp()).module()


@pytest.mark.fault
def test_export_with_other_weights(tmp_path: Path) -> None:
    model = loaded(tmp_path, mlp())
    path = model.export(tmp_path / "out" / "new.onnx", {"b2": np.full(3, 5, np.float32)})
    inputs = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    (output,) = onnxruntime.InferenceSession(path).run(None, {"x": inputs})
    hidden = np.maximum(inputs @ weight(8, 4).T + weight(8), 0)
    difference = np.abs(hidden @ weight(3, 8).T + 5 - output).max()
    assert difference < 1e-5, f"largest difference {difference:.2e}"
    assert np.array_equal(model.weights()["b2"], weight(3))
    with pytest.raises(ModelError, match=r"'b3' of shape \[3\] does not fit.*unknown name"):
        model.export(path, {"b3": weight(3)})


def test_a_saved_model_is_a_copy(tmp_path: Path) -> None:
    model = loaded(tmp_path, traps())
    (tmp_path / "model.onnx").unlink()
    model.save(tmp_path / "saved")
    other = load_saved(tmp_path / "saved")
    assert (other.inputs, other.outputs) == (model.inputs, model.outputs)
    assert other.parameters == model.parameters
    assert other.layers() == model.layers()
    assert not other.has_module
    for name, value in model.weights().items():
        assert np.array_equal(other.weights()[name], value)


@pytest.mark.fault
def test_a_fixed_batch_cannot_be_fed(tmp_path: Path) -> None:
    model = loaded(tmp_path, mlp(batch=1))
    assert model.inputs[0].shape == (1, 4)
    data = Dataset("d", Split([np.zeros((6, 4), np.float32)], np.zeros(6, np.int64)))
    with pytest.raises(DataError, match=r"shape \(1, 4\), with a fixed batch size"):
        check_fit(model, data, "cross_entropy")


def test_an_unnamed_first_axis_is_the_batch(tmp_path: Path) -> None:
    model = loaded(tmp_path, mlp(batch=None))
    assert model.inputs[0].shape == ("batch", 4)
    assert model.outputs[0].shape == ("batch", 3)
