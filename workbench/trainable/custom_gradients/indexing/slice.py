"""The gradient of a slice with a negative or computed step."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import numpy as np
import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class SliceGradient(CustomGradient):
    """dY at the sliced places, and zero elsewhere; ONNX Runtime's needs positive steps.

    The places are the same slice of the element numbers. An axis reversed whole (torch.flip) is
    reversed again.
    """

    op: ClassVar[str] = "Slice"
    note: ClassVar[str] = "given the workbench's gradient, where ONNX Runtime's fails"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        if set(inputs_requiring_grad) != {0} or len(node.inputs) < 5 or node.inputs[4] is None:
            return False
        steps = node.inputs[4].const_value
        return steps is None or bool((steps.numpy() < 0).any())

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        bounds = [
            "" if value is None else graph.input(index)
            for index, value in enumerate(node.inputs)
            if index
        ]
        if _reverses(node):
            return {0: graph.node("Slice", graph.gradient(), *bounds)}
        x, flat = graph.input(0), graph.indices([-1])
        count = graph.node("Size", x)
        numbers = graph.node(
            "Range", graph.constant(0, np.int64), count, graph.constant(1, np.int64)
        )
        shape = graph.node("Shape", x)
        taken = graph.node("Slice", graph.node("Reshape", numbers, shape), *bounds)
        places = graph.node("Reshape", taken, flat)
        spread = graph.node("Reshape", graph.gradient(), flat)
        nothing = graph.node("ConstantOfShape", graph.node("Reshape", count, flat))
        scattered = graph.node("ScatterElements", nothing, places, spread)
        return {0: graph.node("Reshape", scattered, shape)}


def _reverses(node: ir.Node) -> bool:
    """Whether every axis that the slice concerns is reversed whole."""
    given = [None if value is None else value.const_value for value in node.inputs]
    starts, ends, steps = given[1], given[2], given[4]
    if starts is None or ends is None or steps is None:
        return False
    # Any end below minus the size is before the first element.
    before = np.iinfo(np.int32).min
    return bool(
        (starts.numpy() == -1).all()
        and (ends.numpy() < before).all()
        and (steps.numpy() == -1).all()
    )
