"""Cast to the type that a value has already."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.trainable.rewrite import GraphEdit, Rewrite


class NoOpCastToIdentity(Rewrite):
    """Replaces a Cast without effect by Identity, which ONNX Runtime removes safely.

    ONNX Runtime removes such a Cast before it differentiates, and fails if one node reads the
    result twice ("Argument mismatch when removing edge"), also off the gradient's path.
    Precondition: the type of its input is known and is the one that it casts to; not bfloat16, of
    which Cast alone has a gradient.
    """

    op: ClassVar[str] = "Cast"
    note: ClassVar[str] = "written as Identity: its input has that type"
    everywhere: ClassVar[bool] = True
    in_place: ClassVar[bool] = True

    @override
    def applies(self, node: ir.Node) -> bool:
        source = node.inputs[0]
        if node.op_type != self.op or source is None or source.dtype == ir.DataType.BFLOAT16:
            return False
        return source.dtype == node.attributes["to"].as_int()

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        node.op_type = "Identity"
        node.attributes.clear()
