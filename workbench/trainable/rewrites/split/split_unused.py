"""Split with a part that the loss does not depend on, as slices of the others."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import onnx_ir as ir

from workbench.trainable.gradient_path import GradientPath
from workbench.trainable.rewrite import GraphEdit, Rewrite
from workbench.trainable.rewrites.split.split_sizes import split_sizes


class UnusedSplitToSlices(Rewrite):
    """Takes each part that is used by a Slice: a Split's gradient is wrong when a part has none.

    Applies to a split with a part that the loss does not depend on.
    Precondition: the sizes of the parts are known.
    """

    op: ClassVar[str] = "Split"
    note: ClassVar[str] = "written as slices, since a part of the split does not lead to the loss"

    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        unused = not all(path.needs_gradient(output) for output in node.outputs)
        return unused and super().concerns(node, path)

    def applies(self, node: ir.Node) -> bool:
        return split_sizes(node, len(node.outputs)) is not None

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        sizes = split_sizes(node, len(node.outputs))
        assert sizes is not None
        axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
        slices: dict[ir.Value, ir.Node] = {}
        start = 0
        for output, size in zip(node.outputs, sizes, strict=True):
            end = start + size
            if output.uses() or output.is_graph_output():
                bounds = [
                    edit.constant(f"{output.name}.{what}", ir.tensor(np.array([number])))
                    for what, number in (("start", start), ("end", end), ("axis", axis))
                ]
                slices[output] = ir.node("Slice", [node.inputs[0], *bounds])
            start = end
        edit.replace(
            [node],
            list(slices.values()),
            {output: part.outputs[0] for output, part in slices.items()},
        )
