"""The names of an exported call become those of its model."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from workbench.artifacts.generation.own_names import SameNameError, with_own_names


def called(middle: str = "middle") -> onnx.ModelProto:
    """y = w * x where the flag is set, else x; the branches read values from outside."""

    def branch(name: str, operator: str, inputs: list[str]) -> onnx.GraphProto:
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch"])
        return helper.make_graph([helper.make_node(operator, inputs, [name])], name, [], [value])

    choice = helper.make_node(
        "If",
        ["input_1"],
        [middle],
        "module.choice",
        then_branch=branch("a", "Mul", ["input_0", "module.w"]),
        else_branch=branch("b", "Identity", ["input_0"]),
    )
    choice.metadata_props.add(key="line", value="model.py:1")
    choice.metadata_props.add(key="updates", value="module.w")
    choice.metadata_props.add(key="layer", value="layers.0")
    graph = helper.make_graph(
        [choice, helper.make_node("Neg", [middle], ["neg"])],
        "called",
        [
            helper.make_tensor_value_info("input_0", TensorProto.FLOAT, ["batch"]),
            helper.make_tensor_value_info("input_1", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("neg", TensorProto.FLOAT, ["batch"])],
        [helper.make_tensor("module.w", TensorProto.FLOAT, [1], [2.0])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_every_place_has_the_new_name() -> None:
    made = with_own_names(called(), ["x", "flag"], ["y"], "module.")
    onnx.checker.check_model(made, full_check=True)
    assert [value.name for value in made.graph.input] == ["x", "flag"]
    assert [value.name for value in made.graph.output] == ["y"]
    assert [tensor.name for tensor in made.graph.initializer] == ["w"]
    choice = made.graph.node[0]
    inside = {
        graph.name: list(graph.node[0].input) for graph in (each.g for each in choice.attribute)
    }
    assert inside == {"a": ["x", "w"], "b": ["x"]}
    assert choice.name == "choice"
    assert {each.key: each.value for each in choice.metadata_props} == {
        "updates": "w",
        "layer": "layers.0",
    }


@pytest.mark.parametrize("middle", ["x", "w", "y"])
def test_an_intermediate_value_makes_way(middle: str) -> None:
    made = with_own_names(called(middle), ["x", "flag"], ["y"], "module.")
    onnx.checker.check_model(made, full_check=True)
    assert list(made.graph.node[1].input) == [f"{middle}_1"]
    inside = with_own_names(called(), ["x", "flag"], ["a"], "module.")
    onnx.checker.check_model(inside, full_check=True)
    assert [value.name for value in inside.graph.output] == ["a"]


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [(["x", "w"], ["y"]), (["x", "flag"], ["x"]), (["x", "flag"], ["y", "z"])],
)
def test_a_name_that_is_taken_is_refused(inputs: list[str], outputs: list[str]) -> None:
    """Of a parameter or an input; and a name without a result."""
    model = called()
    before = model.SerializeToString(True)
    with pytest.raises(SameNameError):
        with_own_names(model, inputs, outputs, "module.")
    assert model.SerializeToString(True) == before
