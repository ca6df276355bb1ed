"""SplitToSequence becomes one Split, and a Split with an unused part slices."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.trainable.graphs import graph, matrix, ops
from workbench.trainable import make_trainable


@pytest.mark.parametrize("sizes", [np.array([1, 3]), np.array(2), None])
def test_a_sequence_becomes_a_split(sizes: np.ndarray | None) -> None:
    inputs = ["h"] if sizes is None else ["h", "sizes"]
    weights = {"w": matrix(), "first": np.array(0), "last": np.array(-1)}
    if sizes is not None:
        weights["sizes"] = sizes
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("SplitToSequence", inputs, ["s"], axis=1),
            helper.make_node("SequenceAt", ["s", "first"], ["a"]),
            helper.make_node("SequenceAt", ["s", "last"], ["y"]),
            helper.make_node("Tanh", ["a"], ["z"]),
        ],
        weights,
        outputs=["y", "z"],
    )
    made, report = make_trainable(model, ["w"])
    assert "SplitToSequence" not in ops(made)
    assert "SequenceAt" not in ops(made)
    assert [finding.op for finding in report.rewritten][:3] == [
        "SplitToSequence",
        "SequenceAt",
        "SequenceAt",
    ]
    onnx.checker.check_model(made, full_check=True)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for got, expected in zip(
        ReferenceEvaluator(made).run(None, {"x": x}),
        ReferenceEvaluator(model).run(None, {"x": x}),
        strict=True,
    ):
        np.testing.assert_array_equal(got, expected)


def test_a_split_with_an_unused_part_becomes_slices() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Split", ["h", "sizes"], ["unused", "y"], axis=1),
        ],
        {"w": matrix(), "sizes": np.array([1, 3])},
    )
    made, _ = make_trainable(model, ["w"])
    assert "Split" not in ops(made)
    assert "Slice" in ops(made)
