"""The gradient of average pooling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.shapes.window import Window, integer, window


class AveragePoolGradient(CustomGradient):
    """Each entry of dY, over the count that it is the mean of, is added to the entries that it was
    pooled from.

    Where the windows tile the image that is an up-sampling by repetition, else a transposed
    convolution of each channel with ones.

    Precondition: the spatial sizes and the number of channels are known, each window holds an
    entry of the image, and ONNX Runtime's own gradient fails, as the batch is not fixed or a
    parameter itself is pooled.
    """

    op: ClassVar[str] = "AveragePool"
    note: ClassVar[str] = (
        "given the workbench's gradient: ONNX Runtime's crashes unless every axis is fixed"
    )

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        slid = window(node, node.inputs[0])
        shape = None if node.inputs[0] is None else node.inputs[0].shape
        if slid is None or shape is None or not isinstance(shape[1], int):
            return False
        source = node.inputs[0]
        if source is not None and source.producer() is not None and shape.is_static():
            return False
        return all((count > 0).all() for count in _counts(slid, _ceil(node), padding=False))

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        slid = window(node, node.inputs[0])
        source = node.inputs[0]
        assert slid is not None
        assert source is not None
        assert source.shape is not None
        padding = integer(node, "count_include_pad", 0) == 1
        counts = _counts(slid, _ceil(node), padding=padding)
        shares = np.ones(())
        for count in counts:
            shares = shares[..., None] / count
        uniform = bool((shares == shares.flat[0]).all())
        factor = graph.constant(shares.flat[0] if uniform else shares)
        share = graph.node("Mul", graph.gradient(), factor)
        outputs = tuple(len(count) for count in counts)
        if _tiles(slid, outputs):
            scales = graph.constant([1, 1, *slid.kernel])
            return {
                0: graph.node(
                    "Resize",
                    share,
                    "",
                    scales,
                    mode="nearest",
                    coordinate_transformation_mode="asymmetric",
                    nearest_mode="floor",
                )
            }
        channels = source.shape[1]
        assert isinstance(channels, int)
        rest = slid.rest(outputs)
        return {
            0: graph.node(
                "ConvTranspose",
                share,
                graph.constant(np.ones((channels, 1, *slid.kernel))),
                group=channels,
                kernel_shape=slid.kernel,
                strides=slid.strides,
                dilations=slid.dilations,
                pads=[*slid.begin, *(max(0, -entries) for entries in rest)],
                output_padding=[max(0, entries) for entries in rest],
            )
        }


def _ceil(node: ir.Node) -> bool:
    return integer(node, "ceil_mode", 0) == 1


def _counts(slid: Window, ceil: bool, *, padding: bool) -> list[np.ndarray]:
    """For each axis and window, the number of entries of the mean; with `padding`, of all."""
    counts = []
    for size, kernel, stride, dilation, extent, begin, end in zip(
        slid.sizes,
        slid.kernel,
        slid.strides,
        slid.dilations,
        slid.extent,
        slid.begin,
        slid.end,
        strict=True,
    ):
        room = size + begin + end - extent
        outputs = (-(-room // stride) if ceil else room // stride) + 1
        read = np.arange(outputs)[:, None] * stride - begin + np.arange(kernel)[None, :] * dilation
        inside = (read >= 0) & (read < size)
        counts.append(np.full(outputs, kernel) if padding else inside.sum(axis=1))
    return counts


def _tiles(slid: Window, outputs: tuple[int, ...]) -> bool:
    """Whether the windows cover the image side by side, with nothing left over."""
    return (
        slid.kernel == slid.strides
        and not any((*slid.begin, *slid.end))
        and all(dilation == 1 for dilation in slid.dilations)
        and all(
            output * stride == size
            for output, stride, size in zip(outputs, slid.strides, slid.sizes, strict=True)
        )
    )
