"""ScatterND with a reduction, which loses updates where several threads run it."""

from __future__ import annotations

from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.ordered_scatter import is_unordered, ordered
from workbench.trainable.gradient_path import GradientPath
from workbench.trainable.rewrite import GraphEdit, Rewrite


class ScatterSlicesInOrder(Rewrite):
    """Writes ScatterND with a reduction as ScatterElements.

    Precondition: the rank of the data, and the number of axes indexed, are known.
    """

    op: ClassVar[str] = "ScatterND"
    note: ClassVar[str] = (
        "written as ScatterElements, since ONNX Runtime's ScatterND loses updates with several "
        "threads"
    )
    everywhere: ClassVar[bool] = True

    @override
    def concerns(self, node: ir.Node, path: GradientPath) -> bool:
        return is_unordered(node)

    @override
    def applies(self, node: ir.Node) -> bool:
        return ordered(node) is not None

    @override
    def apply(self, node: ir.Node, edit: GraphEdit) -> None:
        nodes = ordered(node)
        assert nodes is not None
        edit.replace([node], nodes, {node.outputs[0]: nodes[-1].outputs[0]})
