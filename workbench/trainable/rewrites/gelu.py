"""The tanh form of Gelu, with its own gradient."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.differentiable import MICROSOFT
from workbench.trainable.rewrite import GraphEdit, Rewrite


class TanhGeluToFastGelu(Rewrite):
    """Writes Gelu(approximate="tanh") as FastGelu, which is the same function.

    ONNX Runtime's gradient of either form of Gelu is that of the exact form.
    Precondition: the node is of the tanh form, and its input has an axis, which FastGelu needs.
    """

    op: ClassVar[str] = "Gelu"
    note: ClassVar[str] = "written as FastGelu, whose gradient is that of the tanh form"

    def applies(self, node: ir.Node) -> bool:
        form = node.attributes.get("approximate")
        shape = None if node.inputs[0] is None else node.inputs[0].shape
        has_axis = shape is None or len(shape) > 0
        return form is not None and form.as_string() == "tanh" and has_axis

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        edit.use_domain(MICROSOFT)
        gelu = ir.node("FastGelu", [node.inputs[0]], domain=MICROSOFT, name=node.name)
        edit.replace([node], [gelu], {node.outputs[0]: gelu.outputs[0]})
