"""Unsqueeze along an axis that is written as a number, not as a list of one."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite


class UnsqueezeAlongList(Rewrite):
    """Lists the axis, as the gradient requires. Precondition: the axes are a constant of rank
    zero."""

    op: ClassVar[str] = "Unsqueeze"
    note: ClassVar[str] = "written with a list of axes"
    in_place: ClassVar[bool] = True

    def applies(self, node: ir.Node) -> bool:
        axes = node.inputs[1].const_value if len(node.inputs) > 1 and node.inputs[1] else None
        return axes is not None and len(axes.shape) == 0

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        axes = node.inputs[1]
        assert axes is not None
        assert axes.const_value is not None
        listed = ir.tensor(axes.const_value.numpy().reshape(1))
        node.replace_input_with(1, edit.constant(f"{node.outputs[0].name}.axes", listed))
        if axes.is_initializer() and not axes.uses():
            del edit.graph.initializers[str(axes.name)]
