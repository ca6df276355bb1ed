"""Normalizations whose scale or bias is not trained get copies of it, once."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

from workbench.errors import UntrainableError
from workbench.trainable import make_trainable

_FLOAT = TensorProto.FLOAT


def _model(op: str, attributes: dict[str, int]) -> ModelProto:
    """The input times `weight`, normalized; scale and bias are initializers of 4 elements."""
    statistics = ["mean", "variance"] if op == "BatchNormalization" else []
    results = ["y", *(f"new_{name}" for name in statistics)]
    nodes = [
        helper.make_node("Mul", ["x", "weight"], ["product"], "product"),
        helper.make_node(op, ["product", "scale", "bias", *statistics], results, "n", **attributes),
    ]
    vectors = [
        helper.make_tensor(name, _FLOAT, [4], [1.0] * 4)
        for name in ("weight", "scale", "bias", *statistics)
    ]
    x, y = (helper.make_tensor_value_info(name, _FLOAT, [3, 4]) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "graph", [x], [y], vectors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("LayerNormalization", {"axis": -1}), ("BatchNormalization", {"training_mode": 1})],
)
@pytest.mark.parametrize(
    "trained", [["weight"], ["weight", "scale"], ["weight", "bias"], ["weight", "scale", "bias"]]
)
def test_untrained_values_are_copied(
    op: str, attributes: dict[str, int], trained: list[str]
) -> None:
    made, _ = make_trainable(_model(op, attributes), trained)
    [node] = [node for node in made.graph.node if node.op_type == op]
    copied = {node.input[0] for node in made.graph.node if node.op_type == "Identity"}
    assert copied == {"scale", "bias"} - set(trained)
    assert not copied & set(node.input)


@pytest.mark.fault
def test_a_bias_that_is_left_out_is_none() -> None:
    """A scale of unknown size gets no bias of zeros, and nothing is there to be copied."""
    model = _model("LayerNormalization", {"axis": -1})
    model.graph.node[1].input[2] = ""
    del model.graph.initializer[1:]
    model.graph.input.append(helper.make_tensor_value_info("scale", _FLOAT, ["size"]))
    with pytest.raises(UntrainableError, match="LayerNormalization"):
        make_trainable(model, ["weight", "scale"])
