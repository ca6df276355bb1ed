"""The gradient of adding up blocks of an image."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class Col2ImGradient(CustomGradient):
    """Every element of a block gets dY of the place that it was added to.

    Precondition: the sizes of image and blocks are constant.
    """

    op: ClassVar[str] = "Col2Im"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        return _constant(node, 1) is not None and _constant(node, 2) is not None

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        image, block = _constant(node, 1), _constant(node, 2)
        assert image is not None
        assert block is not None
        pads = _numbers(node, "pads", [0] * (2 * len(image)))
        before, after = pads[: len(image)], pads[len(image) :]
        padded = [sum(sizes) for sizes in zip(image, before, after, strict=True)]
        places = _places(node, padded, block)
        widths = graph.indices([0, 0, *before, 0, 0, *after])
        around = graph.node("Pad", graph.gradient(), widths)
        flat = graph.node("Reshape", around, graph.indices([0, 0, -1]))
        taken = graph.node("Gather", flat, graph.indices(places.reshape(-1).tolist()), axis=2)
        return {0: graph.node("Reshape", taken, graph.node("Shape", graph.input(0)))}


def _places(node: ir.Node, image: list[int], block: list[int]) -> np.ndarray:
    """Number of the place of every element of every block; (elements of a block, blocks)."""
    dilations = _numbers(node, "dilations", [1] * len(image))
    strides = _numbers(node, "strides", [1] * len(image))
    along = []
    for size, length, dilation, stride in zip(image, block, dilations, strides, strict=True):
        within = np.arange(length) * dilation
        starts = np.arange(0, size - within[-1], stride)
        along.append(within[:, None] + starts)
    # Axes are the offsets within a block and then the blocks, each axis of the image in turn.
    rank = len(image)
    places = np.zeros([1] * (2 * rank), np.int64)
    for axis, (size, places_along) in enumerate(zip(image, along, strict=True)):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = places_along.shape
        places = places * size + places_along.reshape(shape)
    return places.reshape(int(np.prod(block)), -1)


def _constant(node: ir.Node, index: int) -> list[int] | None:
    value = node.inputs[index]
    if value is None or value.const_value is None:
        return None
    return [int(number) for number in value.const_value.numpy()]


def _numbers(node: ir.Node, name: str, default: list[int]) -> list[int]:
    attribute = node.attributes.get(name)
    return default if attribute is None else list(attribute.as_ints())
