"""The optimizer model clips gradients as PyTorch does."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from torch import nn

from workbench.ort.ondevice.optimizers import make_optimizer_model

MAX_NORM = 0.1
SHAPES = [(3, 4), (7,), (2, 3, 5), (), (0, 3)]


def clipped(gradients: list[np.ndarray]) -> list[np.ndarray]:
    model = make_optimizer_model("sgd", 0.0, MAX_NORM)
    model.graph.output.append(
        helper.make_tensor_sequence_value_info("clipped", TensorProto.FLOAT, None)
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    zeros = [np.zeros_like(gradient) for gradient in gradients]
    feeds: dict[str, object] = {
        "learning_rate": np.ones(1, np.float32),
        "params": zeros,
        "gradients": gradients,
        "first_order_moments": zeros,
        "step": np.ones(1, np.int64),
    }
    found: list[np.ndarray] = session.run(["clipped"], feeds)[0]
    return found


def in_torch(gradients: list[np.ndarray]) -> list[np.ndarray]:
    parameters = [nn.Parameter(torch.zeros(gradient.shape)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    nn.utils.clip_grad_norm_(parameters, MAX_NORM)
    return [parameter.grad.numpy() for parameter in parameters if parameter.grad is not None]


@pytest.mark.parametrize(
    "scale", [1.0, 1e-5, 0.0, 1e25], ids=["above", "below", "zero", "overflow"]
)
@pytest.mark.parametrize("element", [None, np.inf, np.nan])
def test_gradients_are_clipped_as_by_torch(scale: float, element: float | None) -> None:
    draws = np.random.default_rng(0)
    gradients = [
        np.asarray(draws.standard_normal(shape) * scale, dtype=np.float32) for shape in SHAPES
    ]
    if element is not None:
        gradients[1][2] = element
    for found, expected in zip(clipped(gradients), in_torch(gradients), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_order_of_the_gradients_changes_no_bit() -> None:
    draws = np.random.default_rng(0)
    gradients = [draws.standard_normal(size).astype(np.float32) for size in range(1, 60)]
    expected = clipped(gradients)
    for _ in range(10):
        order = draws.permutation(len(gradients))
        for place, found in zip(order, clipped([gradients[place] for place in order]), strict=True):
            np.testing.assert_array_equal(found, expected[place])
