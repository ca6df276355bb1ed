"""Buffers in which a module counts: taken out of the graph, or refused."""

from __future__ import annotations

import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from workbench.artifacts.generation.step_counters import remove_step_counters
from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import UPDATES


def model_of(*nodes: NodeProto, added: int = 1, dtype: int = TensorProto.INT64) -> ModelProto:
    """The nodes, and `steps` plus `added` as its new value."""
    update = helper.make_node("Identity", ["new"], ["kept"])
    update.metadata_props.add(key=UPDATES, value="steps")
    add = helper.make_node("Add", ["steps", "added"], ["new"])
    x, y = (helper.make_tensor_value_info(name, dtype, [2]) for name in ("x", "y"))
    values = [
        helper.make_tensor(name, dtype, [], [value])
        for name, value in (("steps", 0), ("added", added))
    ]
    graph = helper.make_graph([add, *nodes, update], "graph", [x], [y], values)
    return helper.make_model(graph)


def test_unread_counters_of_steps_are_removed() -> None:
    model = model_of(helper.make_node("Neg", ["x"], ["y"]))
    assert remove_step_counters(model) == ("steps",)
    assert [node.op_type for node in model.graph.node] == ["Neg"]
    assert [tensor.name for tensor in model.graph.initializer] == ["added"]


def test_a_float32_buffer_stays() -> None:
    model = model_of(helper.make_node("Neg", ["x"], ["y"]), dtype=TensorProto.FLOAT)
    before = model.SerializeToString()
    assert remove_step_counters(model) == ()
    assert model.SerializeToString() == before


@pytest.mark.fault
@pytest.mark.parametrize(
    ("reader", "added"),
    [
        (helper.make_node("Add", ["x", "steps"], ["y"]), 1),
        (helper.make_node("Add", ["x", "new"], ["y"]), 1),
        (helper.make_node("Neg", ["x"], ["y"]), 2),
    ],
)
def test_another_buffer_that_is_not_float32_is_refused(reader: NodeProto, added: int) -> None:
    with pytest.raises(UntrainableError, match=r"writes its buffer 'steps' of int64; on device"):
        remove_step_counters(model_of(reader, added=added))
