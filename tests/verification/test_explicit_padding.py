"""Padding by `auto_pad`, which onnx's reference evaluator computes otherwise than ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.forked import outcome
from workbench.errors import EngineError
from workbench.ort.graph.inference import InferenceSession
from workbench.verification.double_precision import in_double_precision
from workbench.verification.explicit_padding import explicit_padding
from workbench.verification.mixed_run import MixedRun

WEIGHTS = "<float[1, 1, 2, 3] w = {1, -2, 3, 0.5, 4, -1}>"


def model(sizes: str, line: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 13]> padded (float[N, 1, {sizes}] x) => (float y)'
        f"{WEIGHTS} {{ c = {line} s = Mul(c, c) y = ReduceSum <keepdims = 0> (s) }}"
    )


@pytest.mark.parametrize(
    "line",
    [
        'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        'Conv <auto_pad = "SAME_LOWER", strides = [2, 3], kernel_shape = [2, 3]> (x, w)',
        'Conv <auto_pad = "SAME_LOWER"> (x, w)',
        'Conv <auto_pad = "VALID"> (x, w)',
        'AveragePool <auto_pad = "SAME_LOWER", strides = [2, 2], kernel_shape = [3, 3]> (x)',
    ],
)
def test_the_reference_pads_as_onnx_runtime_does(line: str) -> None:
    made = model("6, 8", line)
    x = np.random.default_rng(0).standard_normal((2, 1, 6, 8)).astype(np.float32)

    def both() -> tuple[float, float]:
        native = InferenceSession(made.SerializeToString(), 1).run({"x": x})
        reference = MixedRun(in_double_precision(made), 1).run({"x": x.astype(np.float64)})
        return float(native[0]), reference

    native, reference = outcome(both)
    assert reference == pytest.approx(native, rel=1e-6)


@pytest.mark.fault
def test_a_size_that_is_open_is_refused() -> None:
    made = model("H, 8", 'Conv <auto_pad = "SAME_UPPER"> (x, w)')
    with pytest.raises(EngineError, match=r"Conv 'c' cannot be computed.*explicit pads"):
        explicit_padding(onnx.shape_inference.infer_shapes(made).graph)
