"""Half precision is computed in float32 and rounded as PyTorch's kernels round it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from workbench.ort.ortmodule.capture.dtypes.rounded_values import compute_in_float32

HALVES = {TensorProto.BFLOAT16: torch.bfloat16, TensorProto.FLOAT16: torch.float16}


def product(kind: int, weight: np.ndarray) -> onnx.ModelProto:
    """The export of x @ weight + 1 under autocast: Casts to half precision, and results in it."""
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=kind),
        helper.make_node("MatMul", ["narrow", "weight"], ["product"]),
        helper.make_node("Transpose", ["product"], ["turned"], perm=[1, 0]),
        helper.make_node("Add", ["turned", "one"], ["y"]),
        helper.make_node("Cast", ["y"], ["wide"], to=TensorProto.FLOAT),
    ]
    half = helper.make_tensor("weight", kind, weight.shape, weight.flatten().tolist())
    one = helper.make_tensor("one", kind, [1], [1.0])
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 64])],
        [
            helper.make_tensor_value_info("y", kind, [5, 3]),
            helper.make_tensor_value_info("wide", TensorProto.FLOAT, [5, 3]),
        ],
        [half, one],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("kind", HALVES)
def test_products_are_those_of_half_precision(kind: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(3, 64, generator=generator), torch.randn(64, 5, generator=generator)
    model = product(kind, weight.numpy())
    assert compute_in_float32(model)
    onnx.checker.check_model(model, full_check=True)
    assert {value.type.tensor_type.elem_type for value in model.graph.output} == {TensorProto.FLOAT}
    assert {tensor.data_type for tensor in model.graph.initializer} == {TensorProto.FLOAT}
    found = numpy_helper.to_array(model.graph.initializer[0])
    dtype = HALVES[kind]
    expected_weight = weight.to(dtype)
    assert np.array_equal(found, expected_weight.float().numpy())
    y, wide = ReferenceEvaluator(model).run(None, {"x": x.numpy()})
    expected = (x.to(dtype) @ expected_weight).T + 1
    # Sums of other order may round to the neighbour: of 32, the next bfloat16 is 0.25 away.
    assert np.abs(y - expected.float().numpy()).max() <= torch.finfo(dtype).eps * 32
    assert np.array_equal(torch.from_numpy(y).to(dtype).float().numpy(), y), "it is not rounded"
    assert np.array_equal(wide, y)


def test_a_graph_in_float32_is_left_alone() -> None:
    model = product(TensorProto.FLOAT, np.ones((64, 5), np.float32))
    before = model.SerializeToString()
    assert not compute_in_float32(model)
    assert model.SerializeToString() == before
