"""Models loaded from an ONNX file alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.onnx_io.onnx_models import mlp, traps, weight
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
        Layer("first", "Gemm", ("batch", 8), 40, 160),
        Layer("relu", "Relu", ("batch", 8), 0, 0),
        Layer("second", "Gemm", ("batch", 3), 27, 108),
    ]


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
