"""The gradients of moving channels into the image and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient
from workbench.trainable.shapes.window import integer, text


class DepthToSpaceGradient(CustomGradient):
    """SpaceToDepth, and where the channels came first, a change of their order.

    Precondition: the number of channels is known.
    """

    op: ClassVar[str] = "DepthToSpace"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        source = node.inputs[0]
        return source is not None and source.shape is not None and isinstance(source.shape[1], int)

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        source = node.inputs[0]
        assert source is not None
        assert source.shape is not None
        block = integer(node, "blocksize", 1)
        moved = graph.node("SpaceToDepth", graph.gradient(), blocksize=block)
        if text(node, "mode", "DCR") == "CRD":
            channels = source.shape[1]
            assert isinstance(channels, int)
            squares = block * block
            parts = graph.indices([0, squares, channels // squares, -1])
            swapped = graph.node(
                "Transpose", graph.node("Reshape", moved, parts), perm=[0, 2, 1, 3]
            )
            moved = graph.node("Reshape", swapped, graph.node("Shape", graph.input(0)))
        return {0: moved}


class SpaceToDepthGradient(CustomGradient):
    """DepthToSpace."""

    op: ClassVar[str] = "SpaceToDepth"

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        block = integer(node, "blocksize", 1)
        return {0: graph.node("DepthToSpace", graph.gradient(), blocksize=block, mode="DCR")}
