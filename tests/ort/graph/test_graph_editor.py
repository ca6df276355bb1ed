"""Known types, shapes and constants of a graph's values."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from workbench.ort.graph.graph_editor import GraphEditor


@pytest.mark.parametrize(
    ("stated", "expected"), [(None, (2, 3)), (["rows", 3], (None, 3)), ([2, 4], (2, 4))]
)
def test_a_value_that_is_stated_without_a_shape_has_the_inferred_one(
    stated: list[str | int] | None, expected: tuple[int | None, ...]
) -> None:
    def value(name: str, shape: list[str | int] | None) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    ends = [value("x", [2, 3])], [value("y", [2, 3])]
    graph = helper.make_graph(nodes, "graph", *ends, value_info=[value("h", stated)])
    editor = GraphEditor(graph, [value("h", [2, 3])])  # type: ignore[list-item]
    assert editor.shape("h") == expected
