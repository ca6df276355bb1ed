"""Convolutions in groups, whose gradient ONNX Runtime has wrong over one axis or three."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.errors import UntrainableError
from workbench.trainable import make_trainable


def convolution(sizes: tuple[int | str, ...], group: int) -> onnx.ModelProto:
    kernel = np.ones((4, 4 // group, *[2] * len(sizes)), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", group=group)
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, *sizes])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(kernel, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_lines_in_groups_need_no_length() -> None:
    _, report = make_trainable(convolution(("length",), 4), ["w"])
    (gradient,) = report.gradients
    made = next(node for node in gradient.nodes if node.op_type == "ConvGrad")
    assert helper.get_node_attr_value(made, "group") == 4
    assert list(made.output)[:1] == [""], "the gradient of the input is not asked for"
    assert "one pixel high" in report.rewritten[0].note


@pytest.mark.parametrize(
    ("sizes", "group"), [(("length",), 1), (("height", "width"), 4), ((3, 3, 3), 1)]
)
def test_the_gradient_of_others_stays(sizes: tuple[int | str, ...], group: int) -> None:
    given = convolution(sizes, group)
    made, report = make_trainable(given, ["w"])
    assert made is given
    assert not report.gradients


def test_volumes_in_groups_have_fixed_sizes() -> None:
    assert make_trainable(convolution((3, 3, 3), 2), ["w"])[1].gradients
    with pytest.raises(
        UntrainableError, match=r"Conv \(conv\).*3-D convolution.*needs static sizes"
    ):
        make_trainable(convolution(("depth", 3, 3), 2), ["w"])
