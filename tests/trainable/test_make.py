"""Nodes that are rewritten, left unchanged or refused; nothing native runs here."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.trainable.graphs import graph, matrix, ops
from workbench.errors import UntrainableError
from workbench.trainable import find, leading_to_outputs, make_trainable


def test_a_graph_that_trains_comes_back_as_it_is() -> None:
    model = graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        {"w": matrix()},
    )
    made, report = make_trainable(model, ["w"])
    assert made is model
    assert not report.changed
    assert report.state_updates == ()


def test_a_gap_is_refused_by_name_with_a_way_out() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Hardmax", ["h"], ["y"], name="activation"),
        ],
        {"w": matrix()},
    )
    with pytest.raises(UntrainableError, match=r"Hardmax \(activation\).*no gradient.*Replace"):
        make_trainable(model, ["w"])
    assert [finding.state for finding in find(model, ["w"])] == ["trains", "cannot"]


def test_a_gap_before_every_trained_parameter_is_allowed() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "frozen"], ["h"]),
            helper.make_node("Hardmax", ["h"], ["e"]),
            helper.make_node("MatMul", ["e", "w"], ["y"]),
        ],
        {"frozen": matrix(), "w": matrix()},
    )
    made, _ = make_trainable(model, ["w"])
    assert made is model
    with pytest.raises(UntrainableError, match="Hardmax"):
        make_trainable(model, ["w", "frozen"])


def test_a_branch_of_integers_needs_no_gradient() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Shape", ["h"], ["shape"]),
            helper.make_node("Mod", ["shape", "two"], ["odd"]),
            helper.make_node("Cast", ["odd"], ["float"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["h", "float"], ["y"]),
        ],
        {"w": matrix(2, 2), "two": np.array([2])},
        shape=("batch", 2),
    )
    make_trainable(model, ["w"])


def test_a_node_off_the_path_is_not_rewritten() -> None:
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["n"]),
        helper.make_node("MatMul", ["n", "w"], ["y"]),
    ]
    weights = {"scale": matrix()[0], "bias": matrix()[0], "w": matrix()}
    made, _ = make_trainable(graph(nodes, weights), ["w"])
    assert len(made.graph.node[0].output) == 1
    made, report = make_trainable(graph(nodes, weights), ["scale", "w"])
    normalization = next(n for n in made.graph.node if n.op_type == "LayerNormalization")
    assert len(normalization.output) == 3
    assert {finding.op for finding in report.rewritten} == {"LayerNormalization"}


def test_cast_like_becomes_cast() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("CastLike", ["h", "half"], ["c"]),
            helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
        ],
        {"w": matrix(), "half": np.zeros(1, np.float16)},
    )
    made, _ = make_trainable(model, ["w"])
    assert ops(made) == ["MatMul", "Cast", "Cast"]


def test_a_cast_to_the_type_that_a_value_has_becomes_identity() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("CastLike", ["h", "x"], ["like"]),
            helper.make_node("Cast", ["like"], ["same"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["same", "same"], ["square"]),
            helper.make_node("Cast", ["x"], ["input"], to=TensorProto.FLOAT),
            helper.make_node("Cast", ["input"], ["half"], to=TensorProto.FLOAT16),
            helper.make_node("Cast", ["half"], ["rounded"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["square", "rounded"], ["sum"]),
            helper.make_node("Cast", ["sum"], ["y"], to=TensorProto.FLOAT),
        ],
        {"w": matrix()},
    )
    made, report = make_trainable(model, ["w"])
    assert ops(made) == [
        *("MatMul", "Identity", "Identity", "Mul"),
        *("Identity", "Cast", "Cast", "Add", "Identity"),
    ]
    assert made.graph.output == model.graph.output
    assert "written as Identity: its input has that type" in {f.note for f in report.rewritten}
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    before, after = (ReferenceEvaluator(each).run(None, {"x": x})[0] for each in (model, made))
    assert np.array_equal(before, after)


def normalized(opset: int = 20) -> onnx.ModelProto:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node(
                "BatchNormalization", ["h", "scale", "bias", "mean", "var"], ["y"], momentum=0.9
            ),
        ],
        {
            "w": matrix(),
            **{name: matrix()[0] for name in ("scale", "bias", "mean", "var")},
        },
    )
    model.opset_import[0].version = opset
    return model


@pytest.mark.parametrize("trained", [["w"], ["scale", "bias"]])
def test_batch_normalization_trains_wherever_it_stands(trained: list[str]) -> None:
    made, report = make_trainable(normalized(), trained)
    assert [update.buffer for update in report.state_updates] == ["mean", "var"]
    names = [value.name for value in made.graph.output]
    assert names == ["y", *(update.output for update in report.state_updates)]
    node = next(node for node in made.graph.node if node.op_type == "BatchNormalization")
    assert {attribute.name: attribute.i for attribute in node.attribute}["training_mode"] == 1
    onnx.checker.check_model(made, full_check=True)


def test_batch_normalization_of_an_old_opset_is_refused() -> None:
    with pytest.raises(UntrainableError, match="opset 15"):
        make_trainable(normalized(opset=9), ["w"])


def test_max_pooling_of_a_parameter_pools_a_copy() -> None:
    weights = {"w": np.ones((1, 1, 4, 4), np.float32)}
    made, report = make_trainable(
        graph([helper.make_node("MaxPool", ["w"], ["y"], kernel_shape=[2, 2])], weights), ["w"]
    )
    assert ops(made) == ["Identity", "MaxPool"]
    assert [finding.state for finding in report.rewritten] == ["rewritten"]


def test_average_pooling_needs_a_fixed_height_and_width() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], kernel_shape=[1, 1]),
        helper.make_node("AveragePool", ["h"], ["y"], kernel_shape=[2, 2], name="pool"),
    ]
    weights = {"w": np.ones((1, 1, 1, 1), np.float32)}
    _, report = make_trainable(graph(nodes, weights, shape=("batch", 1, 4, 4)), ["w"])
    assert [gradient.node for gradient in report.gradients] == ["pool"]
    with pytest.raises(UntrainableError, match="SIGFPE"):
        make_trainable(graph(nodes, weights, shape=("batch", 1, "height", 4)), ["w"])


def test_a_wrong_gradient_is_refused() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Transpose", ["h"], ["y"]),
        ],
        {"w": matrix()},
    )
    with pytest.raises(UntrainableError, match="perm"):
        make_trainable(model, ["w"])


def test_parameters_that_no_output_depends_on() -> None:
    model = graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["y"]),
            helper.make_node("ArgMax", ["v"], ["index"], keepdims=0),
        ],
        {"w": matrix(), "v": matrix()},
    )
    assert leading_to_outputs(model, ["v", "w", "absent"]) == ["w"]
