"""Activations whose gradient is our own, and where there is none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.trainable.custom_gradients.gradient_table import Case, build, scalar
from tests.trainable.custom_gradients.graphs import graph_of
from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import OPEN_BOUNDS
from workbench.trainable import make_trainable


def test_a_unit_that_is_not_monotonic_is_refused() -> None:
    with pytest.raises(UntrainableError, match="Elu"):
        make_trainable(build(Case("Elu", attributes={"alpha": -1.0})), ["p"])


@pytest.mark.parametrize("bounds", [("least", "most"), ("least", ""), ("", "most")])
def test_open_bounds_get_no_gradient(bounds: tuple[str, str]) -> None:
    model = graph_of(
        helper.make_node("Add", ["x", "w"], ["h"]),
        helper.make_node("Clip", ["h", *bounds], ["y"], "clip"),
        w=np.zeros(4, np.float32),
        least=scalar(-1),
        most=scalar(2),
    )
    mark = model.graph.node[1].metadata_props.add()
    mark.key, mark.value = OPEN_BOUNDS, "1"
    _, report = make_trainable(model, ["w"])
    (gradient,) = report.gradients
    x = np.array([[-2, -1, 0, 1], [2, 3, -1, 2]], np.float32)
    expected = np.ones_like(x)
    if bounds[0]:
        expected[x <= -1] = 0
    if bounds[1]:
        expected[x >= 2] = 0
    clipped = np.clip(x, -1 if bounds[0] else None, 2 if bounds[1] else None)
    values = {"GO(0)": np.ones_like(x), "I(0)": x, "I(1)": scalar(-1), "I(2)": scalar(2)}
    values["O(0)"] = clipped
    np.testing.assert_array_equal(_backward(gradient.nodes, gradient.results[0], values), expected)


def _backward(
    nodes: tuple[onnx.NodeProto, ...], result: str, values: dict[str, np.ndarray]
) -> np.ndarray:
    """The results of a backward graph for these values."""
    graph = helper.make_graph(
        nodes,
        "backward",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
            for name, value in values.items()
        ],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    made: np.ndarray = ReferenceEvaluator(model).run([result], values)[0]
    return made
