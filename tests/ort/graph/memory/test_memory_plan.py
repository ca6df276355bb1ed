"""Which values share memory, on graphs whose plan can be worked out by hand."""

from __future__ import annotations

import onnx
import pytest
from onnx.parser import parse_model

from workbench.ort.graph.memory.memory_plan import memory_plan

ROW_BYTES = 1024 * 4

GRADIENT_OF_RELU = """
<ir_version: 9, opset_import: ["": 17, "com.microsoft": 1]>
relu (float[batch, 1024] x) => (float[batch, 1024] result)
<float zero = {0}, float[batch, 1024] before, float[batch, 1024] relu,
 float[batch, 1024] gradient> {
    before = Sin(x)
    relu = Relu(before)
    given = com.microsoft.Pool(relu)
    above = Greater(before, zero)
    mask = Cast<to = 1>(above)
    gradient = com.microsoft.PoolGrad(given)
    result = com.microsoft.Product(gradient, mask)
}
"""
"""`given`, of an unknown size, takes nothing."""


@pytest.mark.parametrize("declared", [False, True])
def test_a_shape_that_is_inferred_when_the_model_is_loaded_is_reused_as_a_declared_one(
    declared: bool,
) -> None:
    """The mask takes the place of `before`, which died last, and the gradient that of `relu`.

    The result, which is an output, has a place of its own, where `above` has been.
    """
    model = parse_model(GRADIENT_OF_RELU)
    if declared:
        model = onnx.shape_inference.infer_shapes(model)
        assert {"above", "mask"} <= {value.name for value in model.graph.value_info}
    plan = memory_plan(model, 256)
    assert plan.unknown_values == 1
    assert plan.resident_bytes == 256 * 3 * ROW_BYTES
