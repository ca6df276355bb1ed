"""Which convolutions and poolings become kernels of our own, and which stay as they are."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper

from tests.ort.graph.kernels.test_device_kernels import DOUBLE, FLOAT, MICROSOFT, model_of
from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.kernels.device_kernels import device_kernel_counts, write_device_kernels

WEIGHTS = (16, 4, 3, 3)


def convolution(
    weights: tuple[int, ...] = WEIGHTS, *, kind: int = FLOAT, **attributes: Any
) -> onnx.ModelProto:
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", **attributes)
    places = [9] * (len(weights) - 2)
    channels = weights[1] * attributes.get("group", 1)
    return model_of([node], ["y"], kind, x=[2, channels, *places], w=list(weights))


def gradient(outputs: list[str], weights: tuple[int, ...] = WEIGHTS) -> onnx.ModelProto:
    node = helper.make_node("ConvGrad", ["dy", "x", "w"], outputs, "back", domain=MICROSOFT)
    given = {"dy": [2, 16, 7, 7], "x": [2, weights[1], 9, 9], "w": list(weights)}
    return model_of([node], list(filter(None, outputs)), **given)


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (convolution(), "Convolution"),
        (convolution(strides=[2, 2], pads=[1, 1, 1, 1], dilations=[2, 1]), "Convolution"),
        (convolution((16, 4, 3, 3), group=2), "Convolution"),
        (convolution((16, 4, 5)), "Convolution"),
        (convolution((16, 4, 3, 3, 3)), None),
        (convolution((16, 1, 3, 3)), None),
        (convolution((16, 1, 5, 5), group=16), None),
        (convolution((256, 64, 3, 3)), None),
        (convolution((16, 32, 1, 1)), None),
        (convolution(auto_pad="SAME_UPPER"), None),
        (convolution(pads=[-1, 0, 0, 0]), None),
        (convolution(kind=DOUBLE), None),
        (gradient(["dx", "dw", "db"]), "ConvolutionGradient"),
        (gradient(["dx", "dw"]), "ConvolutionGradient"),
        (gradient(["", "dw", "db"]), "ConvolutionWeightGradient"),
        (gradient(["", "dw"], (16, 1, 3, 3)), "ConvolutionWeightGradient"),
        (gradient(["dx"]), None),
        (gradient(["dx", "dw", "db"], (256, 64, 3, 3)), None),
    ],
)
def test_only_small_convolutions_become_kernels(model: onnx.ModelProto, kernel: str | None) -> None:
    before = model.SerializeToString()
    replaced = write_device_kernels(model)
    assert device_kernel_counts(model) == ({} if kernel is None else {kernel: 1})
    if kernel is None:
        assert model.SerializeToString() == before
    else:
        first = model.graph.output[0].name
        assert replaced == {first: first}
        assert model.graph.node[0].name in ("conv", "back")


def test_a_kernel_has_the_window_attributes_of_its_convolution() -> None:
    model = convolution(strides=[2, 1], pads=[0, 1, 2, 3], dilations=[1, 2])
    write_device_kernels(model)
    (node,) = model.graph.node
    assert {each.name: helper.get_attribute_value(each) for each in node.attribute} == {
        **{"height": 3, "width": 3, "row_stride": 2, "column_stride": 1, "row_dilation": 1},
        **{"column_dilation": 2, "top": 0, "left": 1, "bottom": 2, "right": 3, "groups": 1},
    }


def pooling(
    *,
    kind: int = FLOAT,
    relu: bool = True,
    read_again: str = "",
    of_input: bool = False,
    size: int | str = 8,
    **attributes: Any,
) -> onnx.ModelProto:
    window = {"kernel_shape": [2, 2], "strides": [2, 2], **attributes}
    pooled = "r" if relu else "x"
    nodes = [
        *[helper.make_node("Relu", ["x"], ["r"], "relu")] * relu,
        helper.make_node("MaxPool", [pooled], ["y", "i"], "pool", **window),
        helper.make_node("MaxPoolGrad", ["dy", "i"], ["dr"], "pool_back", **window),
    ]
    if relu:
        inputs = ["dr", "x" if of_input else "r"]
        nodes.append(helper.make_node("ReluGrad", inputs, ["dx"], "relu_back", domain=MICROSOFT))
    if read_again:
        nodes.append(helper.make_node("Neg", [read_again], ["other"], "other"))
    results = ["y", "dx" if relu else "dr", *["other"] * bool(read_again)]
    made = model_of(nodes, results, kind, x=[2, 3, 8, size], dy=[2, 3, 4, 4])
    if read_again == "i":
        made.graph.output[2].type.tensor_type.elem_type = onnx.TensorProto.INT64
    return made


@pytest.mark.parametrize("of_input", [False, True])
def test_the_relu_before_a_pooling_is_part_of_it(of_input: bool) -> None:
    model = pooling(of_input=of_input)
    replaced = write_device_kernels(model)
    forward, backward = model.graph.node
    assert (forward.op_type, list(forward.input), list(forward.output)) == ("MaxPool", ["x"], ["y"])
    assert backward.op_type == "MaxPoolGradient"
    assert (list(backward.input), list(backward.output)) == (["dy", "x"], ["dx"])
    assert attribute(forward, "relu", 0) == attribute(backward, "relu", 0) == 1
    assert replaced == {"y": "y", "dx": "dx"}


@pytest.mark.parametrize(
    ("model", "kernels"),
    [
        (pooling(relu=False), {"MaxPool", "MaxPoolGradient"}),
        (pooling(read_again="r"), {"MaxPool", "MaxPoolGradient", "ReluGradient"}),
        (pooling(read_again="dr"), {"MaxPool", "MaxPoolGradient", "ReluGradient"}),
        (pooling(read_again="i"), {"ReluGradient"}),
        (pooling(ceil_mode=1), {"ReluGradient"}),
        (pooling(pads=[2, 0, 0, 0]), {"ReluGradient"}),
        (pooling(pads=[1] * 4, dilations=[8, 8], relu=False), {"MaxPool", "MaxPoolGradient"}),
        (pooling(pads=[1, 0, 1, 0], dilations=[9, 1]), {"ReluGradient"}),
        (pooling(pads=[0, 0, 0, 1], dilations=[1, 9]), {"ReluGradient"}),
        (pooling(size="width", pads=[0, 1, 0, 1], dilations=[1, 2]), {"ReluGradient"}),
        (pooling(size="width", pads=[0, 1, 0, 1], relu=False), {"MaxPool", "MaxPoolGradient"}),
        (pooling(kind=DOUBLE, relu=False), set()),
    ],
)
def test_a_pooling_whose_values_are_read_again_keeps_them(
    model: onnx.ModelProto, kernels: set[str]
) -> None:
    write_device_kernels(model)
    assert set(device_kernel_counts(model)) == kernels
    made = [node for node in model.graph.node if node.op_type == "MaxPool" and node.domain]
    assert not any(attribute(node, "relu", 0) for node in made)
