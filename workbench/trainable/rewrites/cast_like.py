"""CastLike, which has no gradient, as Cast, which has."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir

from workbench.trainable.rewrite import GraphEdit, Rewrite


class CastLikeToCast(Rewrite):
    """Casts to the type that the second input has. Precondition: that type is known."""

    op: ClassVar[str] = "CastLike"
    note: ClassVar[str] = "written as Cast"

    def applies(self, node: ir.Node) -> bool:
        return node.inputs[1] is not None and node.inputs[1].dtype is not None

    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        like = node.inputs[1]
        assert like is not None
        assert like.dtype is not None
        cast = ir.node("Cast", [node.inputs[0]], {"to": int(like.dtype)}, name=node.name)
        edit.replace([node], [cast], {node.outputs[0]: cast.outputs[0]})
