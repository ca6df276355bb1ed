"""The gradient of a convolution of lines in groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.differentiable import MICROSOFT
from workbench.trainable.shapes.window import integer


class GroupedLineConvGradient(CustomGradient):
    """The gradient of a convolution of images one pixel high.

    ONNX Runtime's for lines clears, for each group, as much memory as the channels of all groups
    take, and so overwrites the memory after the gradient of the input with zeros.

    Precondition: a convolution over one spatial axis, in groups.
    """

    op: ClassVar[str] = "Conv"
    note: ClassVar[str] = (
        "given the gradient of an image one pixel high: ONNX Runtime's for lines in groups writes "
        "over other values"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return integer(node, "group", 1) > 1 and any(
            value is not None and value.shape is not None and len(value.shape) == 3
            for value in (*node.inputs[:2], node.outputs[0])
        )

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        height = graph.indices([2])
        images = [
            graph.node("Unsqueeze", value, height)
            for value in (graph.gradient(), graph.input(0), graph.input(1))
        ]
        settings = _of_images(node)
        results = {}
        for index in inputs_requiring_grad:
            result = graph.node("ConvGrad", *images, domain=MICROSOFT, output=index, **settings)
            # The bias has no axis of height.
            results[index] = result if index == 2 else graph.node("Squeeze", result, height)
        return results


def _of_images(node: ir.Node) -> dict[str, Any]:
    """The attributes of the convolution, with an axis of height before that of width."""
    settings: dict[str, Any] = {"group": integer(node, "group", 1)}
    if "auto_pad" in node.attributes:
        settings["auto_pad"] = node.attributes["auto_pad"].as_string()
    for name in ("kernel_shape", "strides", "dilations"):
        if name in node.attributes:
            settings[name] = [1, *node.attributes[name].as_ints()]
    if "pads" in node.attributes:
        begin, end = node.attributes["pads"].as_ints()
        settings["pads"] = [0, begin, 0, end]
    return settings
