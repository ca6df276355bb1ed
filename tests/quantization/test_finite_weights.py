"""Weights that are not finite are refused before a model is quantized."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from workbench.errors import ModelError
from workbench.quantization.finite_weights import refuse_not_finite_weights


def model_of(weights: np.ndarray, path: Path) -> Path:
    value = onnx.helper.make_tensor_value_info
    float32 = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Mul", ["x", "scale"], ["y"])],
        "scaled",
        [value("x", float32, ["batch", 2])],
        [value("y", float32, ["batch", 2])],
        [onnx.numpy_helper.from_array(weights, "scale")],
    )
    onnx.save(onnx.helper.make_model(graph), path)
    return path


@pytest.mark.fault
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_model_is_a_sentence(bad: float, tmp_path: Path) -> None:
    path = model_of(np.array([1.0, bad], np.float32), tmp_path / "model.onnx")
    with pytest.raises(ModelError, match="'scale' hold NaN or infinity"):
        refuse_not_finite_weights(path)
    refuse_not_finite_weights(model_of(np.ones(2, np.float32), path))
